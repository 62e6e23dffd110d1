"""The peer of test/bench/training-server: the same steps written with the official Python client of the Tinker API.

One JSON object on stdin, {"url", "model", "rank", "sequences": [{"prompt": [...], "response": [...]}], "steps",
"learning_rate"}; answers with one JSON object per line: {"open_ms"}, then {"step_ms", "norm"} per step, then {"close_ms"}.
A step is forward, the loss's gradient by log-prob, forward_backward with a surrogate of that gradient, and optim_step.
The server averages over a sequence's answer and over the sequences, which the surrogate undoes.
"""

import json
import os
import sys
import time

os.environ.setdefault("TINKER_API_KEY", "tml-any")
os.environ.setdefault("TINKER_TELEMETRY", "0")
import tinker
from tinker import types


def write(**values):
    print(json.dumps(values), flush=True)


def slopes(log_probs, count):
    """d/dlogProb of the mean over all tokens of -logProb, as test/bench/training-server/step.ts computes it."""
    return [-1.0 / count] * len(log_probs)


class Clock:
    def __enter__(self):
        self.start = time.perf_counter()
        return self

    def __exit__(self, *_):
        self.ms = 1000 * (time.perf_counter() - self.start)


ask = json.loads(sys.stdin.readline())
sequences = [(each["prompt"], each["response"]) for each in ask["sequences"]]
tokens = sum(len(response) for _, response in sequences)


def datum(prompt, response, **rows):
    full = prompt + response
    pad = [0.0] * (len(prompt) - 1)
    inputs = {name: pad + list(row) for name, row in rows.items()}
    return types.Datum(
        model_input=types.ModelInput.from_ints(full[:-1]), loss_fn_inputs=dict(target_tokens=full[1:], **inputs)
    )


with Clock() as clock:
    service = tinker.ServiceClient(base_url=ask["url"])
    client = service.create_lora_training_client(
        base_model=ask["model"], rank=ask["rank"], seed=3, train_unembed=False
    )
write(open_ms=clock.ms)
adam = types.AdamParams(learning_rate=ask["learning_rate"], beta1=0.9, beta2=0.999, eps=1e-8)
for _ in range(ask["steps"]):
    with Clock() as clock:
        scored = client.forward(
            [datum(p, r, weights=[1.0] * len(r)) for p, r in sequences], "cross_entropy"
        ).result()
        current = [
            output["logprobs"].tolist()[len(p) - 1 :] for output, (p, _) in zip(scored.loss_fn_outputs, sequences)
        ]
        data = [
            datum(
                p,
                r,
                logprobs=row,
                advantages=[-slope * len(r) * len(sequences) for slope in slopes(row, tokens)],
                weights=[1.0] * len(r),
            )
            for (p, r), row in zip(sequences, current)
        ]
        client.forward_backward(data, "importance_sampling").result()
        stepped = client.optim_step(adam).result()
    write(step_ms=clock.ms, norm=stepped.metrics["skyrl.ai/grad_norm"])
with Clock() as clock:
    client.save_state("bench-state").result()
    client.save_weights_for_sampler("bench-adapter").result()
write(close_ms=clock.ms)
