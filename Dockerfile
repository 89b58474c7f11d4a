# A static program on an empty image, which serves models as nobody:
#
#     docker build -t attentive .
#     docker run --rm -p 8080:8080 -v "$PWD/runs/multi30k:/models/en-de:ro" attentive en-de=/models/en-de
#
# Arguments are those of `attentive serve`. docs/serving.md says more.

FROM rust:1.95-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends musl-tools && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/src/target \
    target="$(uname -m)-unknown-linux-musl" \
    && rustup target add "$target" \
    && cargo build --release --locked --bin attentive --target "$target" \
    && cp "target/$target/release/attentive" /attentive

FROM scratch
COPY --from=build /attentive /attentive
USER 65534:65534
EXPOSE 8080
ENTRYPOINT ["/attentive", "serve", "--listen", "0.0.0.0:8080"]
