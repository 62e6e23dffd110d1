"""The peer of test/bench/training-server: the same steps written with the official Python client of the Tinker API.

First line of stdin: {"url", "model", "rank", "learningRate", "sequences": [{"promptIds", "responseIds"}]}. Each further line is
{"steps": n} or {"close": true}. Answers with one JSON object per line: {"ms": [...], "gradientNorm": last}; the first is the time to open.
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


class Clock:
    def __enter__(self):
        self.start = time.perf_counter()
        return self

    def __exit__(self, *_):
        self.ms = 1000 * (time.perf_counter() - self.start)


ask = json.loads(sys.stdin.readline())
sequences = [(each["promptIds"], each["responseIds"]) for each in ask["sequences"]]
tokens = sum(len(response) for _, response in sequences)


def datum(prompt, response, **rows):
    full = prompt + response
    pad = [0.0] * (len(prompt) - 1)
    inputs = {name: pad + list(row) for name, row in rows.items()}
    return types.Datum(
        model_input=types.ModelInput.from_ints(full[:-1]), loss_fn_inputs=dict(target_tokens=full[1:], **inputs)
    )


def answer(ms, norm=None):
    print(json.dumps({"ms": ms, "gradientNorm": norm}), flush=True)


def step():
    scored = client.forward([datum(p, r, weights=[1.0] * len(r)) for p, r in sequences], "cross_entropy").result()
    data = []
    for output, (prompt, response) in zip(scored.loss_fn_outputs, sequences):
        current = output["logprobs"].tolist()[len(prompt) - 1 :]
        slopes = [-1.0 / tokens] * len(response)  # of the mean of -logProb over all tokens
        undone = len(response) * len(sequences)
        advantages = [-slope * undone for slope in slopes]
        data.append(datum(prompt, response, logprobs=current, advantages=advantages, weights=[1.0] * len(response)))
    client.forward_backward(data, "importance_sampling").result()
    return client.optim_step(adam).result().metrics["skyrl.ai/grad_norm"]


with Clock() as clock:
    service = tinker.ServiceClient(base_url=ask["url"])
    client = service.create_lora_training_client(
        base_model=ask["model"], rank=ask["rank"], seed=3, train_unembed=False
    )
answer([clock.ms])
adam = types.AdamParams(learning_rate=ask["learningRate"], beta1=0.9, beta2=0.999, eps=1e-8)
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("close"):
        with Clock() as clock:
            client.save_state("official-state").result()
            client.save_weights_for_sampler("official-adapter").result()
        answer([clock.ms])
        break
    times = []
    for _ in range(asked["steps"]):
        with Clock() as clock:
            norm = step()
        times.append(clock.ms)
    answer(times, norm)
