"""CTranslate2 behind FastAPI and uvicorn, with LibreTranslate's `/translate`; the peer of compare.py.

    python ctranslate2_server.py MODEL --tokenizer DIR --port 8081

Requests that come within a short window (10 ms) are translated as one batch. As many batches as CTranslate2 has workers are
translated at a time; while all workers are busy, the next batch fills up. Requests beyond `--queue` are refused with 503.
"""

import argparse
import asyncio
import pathlib
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import ctranslate2
import uvicorn
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel
from tokenizers import Tokenizer

END = "</s>"


class Asked(BaseModel):
    q: str
    source: str
    target: str


class Batcher:
    """Collects sentences and translates them together."""

    def __init__(self, options):
        self.options = options
        self.translator = ctranslate2.Translator(
            str(options.model),
            compute_type=options.compute_type,
            inter_threads=options.inter,
            intra_threads=options.intra,
        )
        folder = options.tokenizer
        shared = folder / "tokenizer.json"
        src, tgt = (shared, shared) if shared.exists() else (folder / f"tokenizer.{side}.json" for side in ("src", "tgt"))
        self.src, self.tgt = Tokenizer.from_file(str(src)), Tokenizer.from_file(str(tgt))
        self.ids = self.tgt.get_vocab()
        self.pool = ThreadPoolExecutor(options.inter)
        self.workers = asyncio.Semaphore(options.inter)
        self.queue = asyncio.Queue(options.queue)

    async def translate(self, text):
        done = asyncio.get_running_loop().create_future()
        try:
            self.queue.put_nowait((text, done))
        except asyncio.QueueFull:
            raise HTTPException(503, "too many requests wait", {"Retry-After": "1"}) from None
        return await done

    async def run(self):
        """Forms batches for ever."""
        running = set()
        while True:
            batch = [await self.queue.get()]
            await self.collect(batch)
            await self.workers.acquire()
            # What came while all workers were busy.
            while len(batch) < self.options.max_batch and not self.queue.empty():
                batch.append(self.queue.get_nowait())
            task = asyncio.create_task(self.work(batch))
            running.add(task)
            task.add_done_callback(running.discard)

    async def collect(self, batch):
        """Waits for more sentences until the window has passed or the batch is full."""
        try:
            async with asyncio.timeout(self.options.window):
                while len(batch) < self.options.max_batch:
                    batch.append(await self.queue.get())
        except TimeoutError:
            pass

    async def work(self, batch):
        texts = [text for text, _ in batch]
        try:
            found = await asyncio.get_running_loop().run_in_executor(self.pool, self.compute, texts)
            for (_, done), text in zip(batch, found, strict=True):
                if not done.done():
                    done.set_result(text)
        except Exception as error:
            for _, done in batch:
                if not done.done():
                    done.set_exception(error)
        finally:
            self.workers.release()

    def compute(self, texts):
        encoded = self.src.encode_batch(texts, add_special_tokens=False)
        results = self.translator.translate_batch(
            [sentence.tokens + [END] for sentence in encoded],
            max_batch_size=self.options.max_batch,
            batch_type="examples",
            beam_size=self.options.beam,
            length_penalty=self.options.alpha,
            max_decoding_length=self.options.limit,
            min_decoding_length=self.options.limit if self.options.forced else 1,
        )
        return self.tgt.decode_batch([[self.ids[token] for token in result.hypotheses[0]] for result in results])


def app(options):
    @asynccontextmanager
    async def lifespan(served):
        served.state.batcher = Batcher(options)
        task = asyncio.create_task(served.state.batcher.run())
        yield
        task.cancel()

    served = FastAPI(lifespan=lifespan)

    @served.post("/translate")
    async def translate(asked: Asked):
        return {"translatedText": await served.state.batcher.translate(asked.q)}

    @served.get("/readyz")
    async def ready():
        return {"status": "ok"}

    return served


def main():
    parser = argparse.ArgumentParser(description=re.split(r"\n\n", __doc__)[0])
    parser.add_argument("model", type=pathlib.Path, help="model in CTranslate2's format")
    parser.add_argument(
        "--tokenizer", type=pathlib.Path, required=True, help="model directory of Attentive with the tokenizers"
    )
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--compute-type", default="default")
    parser.add_argument("--inter", type=int, default=1, help="workers")
    parser.add_argument("--intra", type=int, default=2, help="threads of each worker")
    parser.add_argument("--max-batch", type=int, default=32, help="most sentences in a batch")
    parser.add_argument("--window", type=float, default=0.01, help="seconds in which a batch is collected")
    parser.add_argument("--queue", type=int, default=0, help="most requests that wait; 0 for no limit")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--alpha", type=float, default=0.6, help="exponent of the length penalty")
    parser.add_argument("--limit", type=int, default=64, help="most tokens of a translation")
    parser.add_argument("--forced", action="store_true", help="translations have no fewer tokens than that")
    options = parser.parse_args()
    uvicorn.run(app(options), host="127.0.0.1", port=options.port, log_level="warning", access_log=False, timeout_keep_alive=60)


if __name__ == "__main__":
    main()
