"""The peer of test/bench/policy.ts: the same work in PyTorch (training) and transformers (decoding, prompts).

First argument: threads. One JSON object per line on stdin, {"model": ..., "case": ..., "steps": n}; answers with the
times of the steps in one JSON object per line. A training step is forward, backward, clipping to norm 1 and a fused AdamW.
"""

import json
import resource
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

LORA_RANK = 16


class Projection(nn.Module):
    """A linear layer without bias; with a rank, frozen beneath a low-rank addition."""

    def __init__(self, inputs, outputs, rank):
        super().__init__()
        self.base = nn.Linear(inputs, outputs, bias=False)
        nn.init.normal_(self.base.weight, std=0.02)
        self.low = None
        if rank:
            self.base.weight.requires_grad_(False)
            self.low, self.high = nn.Linear(inputs, rank, bias=False), nn.Linear(rank, outputs, bias=False)
            nn.init.zeros_(self.high.weight)

    def forward(self, x):
        y = self.base(x)
        return y if self.low is None else y + 2.0 * self.high(self.low(x))


class Layer(nn.Module):
    def __init__(self, m, rank):
        super().__init__()
        hidden, size = m["hiddenSize"], m["headSize"]
        self.m = m
        self.norms = nn.ModuleList(nn.RMSNorm(hidden, m["normEpsilon"]) for _ in range(2))
        self.head_norms = nn.ModuleList(nn.RMSNorm(size, m["normEpsilon"]) for _ in range(2)) if m["queryKeyNorm"] else None
        self.q = Projection(hidden, m["heads"] * size, rank)
        self.k = Projection(hidden, m["keyValueHeads"] * size, rank)
        self.v = Projection(hidden, m["keyValueHeads"] * size, rank)
        self.o = Projection(m["heads"] * size, hidden, rank)
        self.gate = Projection(hidden, m["intermediateSize"], rank)
        self.up = Projection(hidden, m["intermediateSize"], rank)
        self.down = Projection(m["intermediateSize"], hidden, rank)

    def split(self, x, norm=None):
        x = x.unflatten(-1, (-1, self.m["headSize"]))
        return (x if norm is None else norm(x)).transpose(1, 2)

    def forward(self, x, cos, sin):
        def turn(y):
            a, b = y.chunk(2, -1)
            return y * cos + torch.cat((-b, a), -1) * sin

        h = self.norms[0](x)
        qn, kn = self.head_norms or (None, None)
        q, k, v = turn(self.split(self.q(h), qn)), turn(self.split(self.k(h), kn)), self.split(self.v(h))
        grouped = self.m["heads"] != self.m["keyValueHeads"]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=grouped)
        x = x + self.o(y.transpose(1, 2).flatten(2))
        h = self.norms[1](x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Decoder(nn.Module):
    """A tied decoder-only transformer of the Llama and Qwen3 kind."""

    def __init__(self, m, rank):
        super().__init__()
        self.m = m
        self.embedding = nn.Embedding(m["vocabularySize"], m["hiddenSize"])
        nn.init.normal_(self.embedding.weight, std=0.02)
        self.layers = nn.ModuleList(Layer(m, rank) for _ in range(m["layers"]))
        self.norm = nn.RMSNorm(m["hiddenSize"], m["normEpsilon"])
        if rank:
            for name, parameter in self.named_parameters():
                parameter.requires_grad_(".low." in name or ".high." in name)

    def forward(self, ids):
        size = self.m["headSize"]
        wave = self.m["ropeTheta"] ** (-torch.arange(0, size, 2) / size)
        angles = torch.outer(torch.arange(ids.shape[1]).float(), wave).repeat(1, 2)
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x, angles.cos(), angles.sin())
        return F.linear(self.norm(x), self.embedding.weight)


def trainer(m, case):
    model = Decoder(m, LORA_RANK if case["trains"] == "lora" else 0)
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4, fused=True)
    shape = (case["batch"], case["positions"])
    ids, labels = (torch.randint(0, m["vocabularySize"], shape) for _ in range(2))

    def step():
        loss = F.cross_entropy(model(ids).flatten(0, 1), labels.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    return step


def pretrained(m):
    import transformers

    kind = "Qwen3" if m["queryKeyNorm"] else "Llama"
    config = getattr(transformers, kind + "Config")(
        vocab_size=m["vocabularySize"], hidden_size=m["hiddenSize"], num_hidden_layers=m["layers"],
        num_attention_heads=m["heads"], num_key_value_heads=m["keyValueHeads"], head_dim=m["headSize"],
        intermediate_size=m["intermediateSize"], max_position_embeddings=m["maxPositions"],
        rms_norm_eps=m["normEpsilon"], tie_word_embeddings=True, eos_token_id=None, bos_token_id=None,
    )
    return getattr(transformers, kind + "ForCausalLM")(config).eval()


def decoder(m, case):
    model = pretrained(m)
    ids = torch.randint(0, m["vocabularySize"], (case["sequences"], case["context"]))
    state = {}
    with torch.inference_mode():
        out = model(ids, use_cache=True, logits_to_keep=1)
        state["cache"], state["next"] = out.past_key_values, out.logits[:, -1].argmax(-1, keepdim=True)

    def step():
        with torch.inference_mode():
            out = model(state["next"], past_key_values=state["cache"], use_cache=True)
            state["next"] = out.logits[:, -1].argmax(-1, keepdim=True)

    return step


def reader(m, case):
    model = pretrained(m)
    ids = torch.randint(0, m["vocabularySize"], (1, case["tokens"]))

    def step():
        with torch.inference_mode():
            model(ids, use_cache=True, logits_to_keep=1).logits.argmax().item()

    return step


makers = {"train": trainer, "decode": decoder, "prefill": reader}
torch.set_num_threads(int(sys.argv[1]))
step = None
for line in sys.stdin:
    asked = json.loads(line)
    if step is None:
        step = makers[asked["case"]["kind"]](asked["model"], asked["case"])
    milliseconds, processor = [], []
    for _ in range(asked["steps"]):
        wall, cpu = time.perf_counter(), time.process_time()
        step()
        milliseconds.append(1000 * (time.perf_counter() - wall))
        processor.append(1000 * (time.process_time() - cpu))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"milliseconds": milliseconds, "processor": processor, "peakBytes": peak}), flush=True)
