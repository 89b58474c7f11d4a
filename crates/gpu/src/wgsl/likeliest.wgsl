struct Likeliest {
    rows: u32,
    vocab: u32,
    count: u32,
    never: u32,
    has_lists: u32,
}
var<immediate> wanted: Likeliest;

const NONE = 0xffffffffu;
const LARGEST = 3.4028234e38;

// The best of each invocation, by their places.
var<workgroup> best: array<f32, LANES>;
var<workgroup> places: array<u32, LANES>;

// A logit; `counts` is false for NaN and −∞, which are told by their bits: a driver may assume that there are none.
struct Logit {
    value: f32,
    counts: bool,
}

fn logit_at(at: u32) -> Logit {
    let bits = bitcast<u32>(a0[at]);
    let magnitude = bits & 0x7fffffffu;
    if (magnitude == 0x7f800000u) {
        return Logit(LARGEST, bits == magnitude);
    }
    return Logit(a0[at], magnitude < 0x7f800000u);
}

// The token at a place of a row's list, or of the vocabulary.
fn token_at(first: u32, place: u32) -> u32 {
    if (wanted.has_lists == 0u) {
        return place;
    }
    return u1[first + place];
}

fn is_never(token: u32) -> bool {
    for (var i = 0u; i < wanted.never; i++) {
        if (u1[i] == token) {
            return true;
        }
    }
    return false;
}

// A workgroup has a row of logits, a0. u1 has the tokens that are never among the largest, then, with lists, the place and the
// length of that of each row, then the lists. A row of o2 is the largest logit, the sum of the exponentials of the differences
// from it, and the largest logits that are wanted with their tokens; -1 if there are no more.
@compute @workgroup_size(128)
fn likeliest(INVOCATION) {
    let row = number_of(group, groups);
    if (row >= wanted.rows) {
        return;
    }
    let at = row * wanted.vocab;
    let out = row * (2u + 2u * wanted.count);
    var first = 0u;
    var len = wanted.vocab;
    if (wanted.has_lists != 0u) {
        first = u1[wanted.never + 2u * row];
        len = u1[wanted.never + 2u * row + 1u];
    }
    var top = -LARGEST;
    for (var place = lane; place < len; place += LANES) {
        let logit = logit_at(at + token_at(first, place));
        if (logit.counts) {
            top = max(top, logit.value);
        }
    }
    top = largest(top, lane);
    var sum = 0.0;
    for (var place = lane; place < len; place += LANES) {
        let logit = logit_at(at + token_at(first, place));
        if (logit.counts) {
            sum += exp(logit.value - top);
        }
    }
    sum = total(sum, lane);
    if (lane == 0u) {
        o2[out] = top;
        o2[out + 1u] = sum;
    }
    var last = LARGEST;
    var last_place = NONE;
    for (var number = 0u; number < wanted.count; number++) {
        var value = 0.0;
        var found = NONE;
        for (var place = lane; place < len; place += LANES) {
            let token = token_at(first, place);
            let logit = logit_at(at + token);
            // After the last one: smaller, or as large and at a later place.
            let follows = number == 0u || logit.value < last || (logit.value == last && place > last_place);
            if (logit.counts && follows && (found == NONE || logit.value > value) && !is_never(token)) {
                value = logit.value;
                found = place;
            }
        }
        workgroupBarrier();
        best[lane] = value;
        places[lane] = found;
        workgroupBarrier();
        for (var half = LANES / 2u; half > 0u; half /= 2u) {
            if (lane < half) {
                let place = places[lane + half];
                let other = best[lane + half];
                let larger = places[lane] == NONE || other > best[lane] || (other == best[lane] && place < places[lane]);
                if (place != NONE && larger) {
                    best[lane] = other;
                    places[lane] = place;
                }
            }
            workgroupBarrier();
        }
        last = best[0];
        last_place = places[0];
        if (lane == 0u) {
            o2[out + 2u + 2u * number] = last;
            o2[out + 3u + 2u * number] = -1.0;
            if (last_place != NONE) {
                o2[out + 3u + 2u * number] = f32(token_at(first, last_place));
            }
        }
        // Nothing follows where there is none: all later ones are none too.
        if (last_place == NONE) {
            last = -LARGEST;
        }
    }
}
