#!/usr/bin/env python3
"""Trains the encoder of the ear on its training messages, and writes encoder.bin and encoder.json.

`english` starts from all-MiniLM-L6-v2 (Apache-2.0), six layers that were trained on English sentences. `all` goes on from
the weights that `english` wrote, with all messages and with pieces of words in the ear's other languages (`words.py`).
The same data, versions and number of threads give nearly the same weights. Made with Python 3.11:

    npm run make:ear -- --examples .ear-examples.jsonl
    python3 -m venv .venv-ear
    .venv-ear/bin/pip install torch==2.15.0 transformers==5.24.0 wordfreq==3.1.1
    .venv-ear/bin/python services/judge/ear/encoder/train.py english .ear-examples.jsonl
    .venv-ear/bin/python services/judge/ear/encoder/train.py all .ear-examples.jsonl

On two cores, `english` takes 12 minutes with AMX, and `all` 30 minutes without. `--base` and `--words` name models of
the hub or folders.
"""
import argparse, hashlib, json, random, tempfile, time
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from transformers import AutoTokenizer, BertConfig, BertModel, BertTokenizerFast
from words import add_words

HERE = Path(__file__).parent
LABELS = ["bad", "good", "neither"]
BATCH = 64
LONGEST = 96  # tokens
WARM_UP = 0.06  # share of the steps
SHORT = 30  # all English messages and all of those that have fewer characters train in both stages
NOT_BAD = 1.5  # weight of messages that are no complaints
WISHES = 0.3  # weight of the losses about wishes
GROUP = 64  # embedding values with one scale
BFLOAT16 = torch.cpu.get_capabilities().get("amx_bf16", False)  # elsewhere it is no faster


@dataclass(frozen=True)
class Stage:
    rate: float
    epochs: float
    english: float  # share of the variants of an English message that train, beside the message itself
    others: float  # share of the messages in other languages that train
    variants: float  # share of their variants
    learns_others: bool  # what they mean, or only that they are not English


STAGES = {
    "english": Stage(rate=2e-4, epochs=2, english=0.7, others=0.3, variants=0, learns_others=False),
    "all": Stage(rate=2e-4, epochs=2, english=0, others=1, variants=0.25, learns_others=True),
}


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("examples")
    parser.add_argument("--base", default="sentence-transformers/all-MiniLM-L6-v2")
    parser.add_argument("--out", default=str(HERE.parent / "model"))
    parser.add_argument("--words", default="google-bert/bert-base-multilingual-cased")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


class Encoder(torch.nn.Module):
    def __init__(self, bert, head):
        super().__init__()
        self.bert, self.head = bert, head
        self.learns_words = False

    def forward(self, batch):
        longest = max(map(len, batch))
        ids = torch.zeros(len(batch), longest, dtype=torch.long)
        mask = torch.zeros(len(batch), longest, dtype=torch.long)
        for row, one in enumerate(batch):
            ids[row, : len(one)] = torch.tensor(one)
            mask[row, : len(one)] = 1
        words = self.bert.embeddings.word_embeddings.weight
        if self.learns_words:  # the layers see rounded embeddings, whose gradients are those of the exact ones
            words = words + (unrounded(*rounded(words.detach(), 4, GROUP)) - words).detach()
        vectors = F.embedding(ids, words)
        states = self.bert(inputs_embeds=vectors, attention_mask=mask).last_hidden_state.float()
        return self.head((states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True))


def choose(examples, stage):
    """Each English message, messages in other languages, and shares of their variants."""
    seen, kept = set(), []
    for one in examples:
        is_first = one["source"] not in seen
        seen.add(one["source"])
        if one["english"] or len(one["text"]) < SHORT:
            share = 1 if is_first else stage.english
        else:
            share = stage.others if is_first else stage.variants
        if random.random() < share:
            kept.append(one)
    return kept


def batches(lengths):
    """Batches of similar length, in random order."""
    while True:
        order = list(range(len(lengths)))
        random.shuffle(order)
        for start in range(0, len(order), BATCH * 32):
            part = sorted(order[start : start + BATCH * 32], key=lambda at: lengths[at])
            cut = [part[at : at + BATCH] for at in range(0, len(part), BATCH)]
            random.shuffle(cut)
            yield from cut


def loss_of(scores, examples, kinds, stage):
    english = torch.tensor([float(one["english"]) for one in examples])
    learned = torch.ones(len(examples)) if stage.learns_others else english
    language = F.binary_cross_entropy_with_logits(scores[:, -1], english)

    labels = torch.tensor([LABELS.index(one["label"]) for one in examples])
    weights = torch.tensor([1.0, NOT_BAD, NOT_BAD])
    verdict = F.cross_entropy(scores[:, :3], labels, weight=weights, label_smoothing=0.02, reduction="none")

    wishes = torch.tensor([[float(kind in one["wishes"]) for kind in kinds] for one in examples])
    named = F.binary_cross_entropy_with_logits(scores[:, 3:-2], wishes, reduction="none").sum(1)
    known = torch.tensor([float(one["statesWish"] is not None) for one in examples])
    states = torch.tensor([float(bool(one["statesWish"])) for one in examples])
    stated = known * F.binary_cross_entropy_with_logits(scores[:, -2], states, reduction="none")
    return language + (learned * (verdict + WISHES * (named + stated))).sum() / learned.sum().clamp(min=1)


def train(model, encoded, examples, kinds, stage):
    # As they are, English words that no message has keep their meaning. Words of other languages must find theirs.
    model.learns_words = stage.learns_others
    model.bert.embeddings.requires_grad_(False)
    words = model.bert.embeddings.word_embeddings.weight.requires_grad_(model.learns_words)
    others = [one for one in model.parameters() if one.requires_grad and one is not words]
    groups = [{"params": others, "weight_decay": 0.01}, {"params": [words], "weight_decay": 0}]
    optimizer = torch.optim.AdamW(groups)
    steps = int(stage.epochs * len(encoded) / BATCH)
    began, total = time.time(), 0.0
    model.train()
    for step, batch in zip(range(steps), batches([len(one) for one in encoded])):
        share = min(1, (step + 1) / (WARM_UP * steps)) * (steps - step) / steps
        for group in optimizer.param_groups:
            group["lr"] = stage.rate * share
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=BFLOAT16):
            scores = model([encoded[at] for at in batch])
        loss = loss_of(scores.float(), [examples[at] for at in batch], kinds, stage)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
        if (step + 1) % 100 == 0:
            print(f"step {step + 1} of {steps}: loss {total / 100:.3f}, {time.time() - began:.0f} s", flush=True)
            total = 0.0
    model.eval()


def rounded(matrix, bits, group):
    """Whole numbers of `bits` bits, and the value of 1 for each `group` values of a row."""
    most = 2 ** (bits - 1) - 1
    rows, columns = matrix.shape
    parts = matrix.reshape(rows, columns // group, group)
    scales = (parts.abs().amax(-1) / most).clamp(min=1e-12)
    numbers = (parts / scales[..., None]).round().clamp(-most, most)
    return numbers.reshape(rows, columns).to(torch.int8), scales


def unrounded(numbers, scales):
    rows, columns = numbers.shape
    return (numbers.float().reshape(rows, scales.shape[1], -1) * scales[..., None]).reshape(rows, columns)


def round_embeddings(model):
    with torch.no_grad():
        words = model.bert.embeddings.word_embeddings.weight
        numbers, scales = rounded(words, 4, GROUP)
        words.copy_(unrounded(numbers, scales))
    return numbers, scales


def parts_of(layer):
    """Matrices of a layer, each as the projections that it stacks, and its norms."""
    own, output = getattr(layer.attention, "self"), layer.attention.output
    matrices = {
        "qkv": [own.query, own.key, own.value],
        "out": [output.dense],
        "up": [layer.intermediate.dense],
        "down": [layer.output.dense],
    }
    return matrices, {"attention.norm": output.LayerNorm, "mlp.norm": layer.output.LayerNorm}


def write(model, embeddings, tokenizer, kinds, out, about):
    """encoder.bin: embeddings of 4 bits, two in a byte; matrices of 8 bits; all other numbers as f32.

    The model then has the rounded weights too.
    """
    vocabulary = [piece for piece, _ in sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])]
    data, parts = bytearray(), []

    def add(name, kind, shape, blob):
        parts.append({"name": name, "kind": kind, "shape": list(shape), "at": len(data)})
        data.extend(blob)

    def floats(name, tensor):
        add(name, "f32", tensor.shape, tensor.detach().float().contiguous().numpy().tobytes())

    with torch.no_grad():
        numbers, scales = embeddings
        pairs = (numbers + 8).to(torch.uint8).reshape(-1, 2)
        add("words", "i4", numbers.shape, (pairs[:, 0] | (pairs[:, 1] << 4)).numpy().tobytes())
        floats("words.scales", scales)
        table = model.bert.embeddings.position_embeddings.weight + model.bert.embeddings.token_type_embeddings.weight[0]
        floats("positions", table[: 2 + LONGEST])
        norms = {"embedding.norm": model.bert.embeddings.LayerNorm}
        for index, layer in enumerate(model.bert.encoder.layer):
            matrices, own = parts_of(layer)
            for name, stacked in matrices.items():
                weight = torch.cat([one.weight for one in stacked])
                numbers, scales = rounded(weight, 8, weight.shape[1])
                add(f"layers.{index}.{name}", "i8", weight.shape, numbers.numpy().tobytes())
                floats(f"layers.{index}.{name}.scales", scales[:, 0])
                floats(f"layers.{index}.{name}.bias", torch.cat([one.bias for one in stacked]))
                for one, part in zip(stacked, (numbers.float() * scales).chunk(len(stacked))):
                    one.weight.copy_(part)
            norms.update({f"layers.{index}.{name}": norm for name, norm in own.items()})
        for name, norm in norms.items():
            floats(f"{name}.weight", norm.weight)
            floats(f"{name}.bias", norm.bias)
        floats("head.weight", model.head.weight)
        floats("head.bias", model.head.bias)
    config = model.bert.config
    card = {
        "format": 1,
        "sizes": {
            "layers": config.num_hidden_layers,
            "hidden": config.hidden_size,
            "heads": config.num_attention_heads,
            "positions": 2 + LONGEST,
        },
        "columns": [*LABELS, *kinds, "wish", "english"],
        "group": GROUP,
        "digest": hashlib.sha256(data).hexdigest(),
        "about": about,
        "parts": parts,
        "vocabulary": vocabulary,
    }
    Path(out, "encoder.bin").write_bytes(data)
    Path(out, "encoder.json").write_text(json.dumps(card, ensure_ascii=False) + "\n")


REFERENCE = [
    "Too long.",
    "that was a LOT to read, wasn't it?!",
    "Könntest du das bitte kürzer fassen?",
    "¿Y en invierno? No sé...",
    "太长了，请用一句话回答。",
    "もっと短くお願いします",
    "pneumonoultramicroscopicsilicovolcanoconiosis \U0001f600 e-mail@example.com $5 `code` 3.14",
    "x" * 120 + " naïve\u200b\ttab\nline",
    "-- <b>no</b> --",
]


def write_reference(model, tokenizer):
    """Token ids and scores with the rounded weights, for the test of the encoder in TypeScript."""
    with torch.no_grad():
        encoded = [tokenizer(text, truncation=True, max_length=LONGEST)["input_ids"] for text in REFERENCE]
        rows = [
            {"text": text, "ids": ids, "scores": [round(score, 5) for score in model([ids])[0].tolist()]}
            for text, ids in zip(REFERENCE, encoded)
        ]
    (HERE / "reference.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def from_base(base, kinds):
    bert = BertModel.from_pretrained(base, add_pooling_layer=False)
    model = Encoder(bert, torch.nn.Linear(bert.config.hidden_size, len(LABELS) + len(kinds) + 2))
    round_embeddings(model)  # before the training, so that the layers learn to do with it
    return model, AutoTokenizer.from_pretrained(base)


def from_files(folder):
    """The model and the tokenizer in encoder.bin and encoder.json."""
    card = json.loads(Path(folder, "encoder.json").read_text())
    data = Path(folder, "encoder.bin").read_bytes()
    parts = {part["name"]: part for part in card["parts"]}

    def read(name):
        part = parts[name]
        size = torch.Size(part["shape"]).numel()
        if part["kind"] == "f32":
            return torch.frombuffer(bytearray(data[part["at"] :][: 4 * size]), dtype=torch.float32).reshape(part["shape"])
        if part["kind"] == "i8":
            numbers = torch.frombuffer(bytearray(data[part["at"] :][:size]), dtype=torch.int8)
            return unrounded(numbers.reshape(part["shape"]), read(f"{name}.scales")[:, None])
        pairs = torch.frombuffer(bytearray(data[part["at"] :][: size // 2]), dtype=torch.uint8).to(torch.int8)
        numbers = torch.stack([pairs & 15, (pairs >> 4) & 15], 1).reshape(part["shape"]) - 8
        return unrounded(numbers, read(f"{name}.scales"))

    sizes = card["sizes"]
    config = BertConfig(
        vocab_size=len(card["vocabulary"]),
        hidden_size=sizes["hidden"],
        num_hidden_layers=sizes["layers"],
        num_attention_heads=sizes["heads"],
        intermediate_size=4 * sizes["hidden"],
        max_position_embeddings=sizes["positions"],
    )
    model = Encoder(BertModel(config, add_pooling_layer=False), torch.nn.Linear(sizes["hidden"], len(card["columns"])))
    with torch.no_grad():
        embeddings = model.bert.embeddings
        embeddings.word_embeddings.weight.copy_(read("words"))
        embeddings.position_embeddings.weight.copy_(read("positions"))
        embeddings.token_type_embeddings.weight.zero_()
        norms = {"embedding.norm": embeddings.LayerNorm}
        for index, layer in enumerate(model.bert.encoder.layer):
            matrices, own = parts_of(layer)
            norms.update({f"layers.{index}.{name}": norm for name, norm in own.items()})
            for name, stacked in matrices.items():
                weights = read(f"layers.{index}.{name}").chunk(len(stacked))
                biases = read(f"layers.{index}.{name}.bias").chunk(len(stacked))
                for one, weight, bias in zip(stacked, weights, biases):
                    one.weight.copy_(weight)
                    one.bias.copy_(bias)
        for name, norm in {**norms, "head": model.head}.items():
            norm.weight.copy_(read(f"{name}.weight"))
            norm.bias.copy_(read(f"{name}.bias"))
    return model, tokenizer_of(card["vocabulary"])


def tokenizer_of(vocabulary):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "vocab.txt").write_text("".join(f"{piece}\n" for piece in vocabulary))
        return BertTokenizerFast.from_pretrained(folder, do_lower_case=True)


def main():
    given = arguments()
    random.seed(given.seed)
    torch.manual_seed(given.seed)
    stage = STAGES[given.stage]
    header, *rows = map(json.loads, Path(given.examples).read_text().splitlines())
    kinds = header["wishKinds"]
    examples = choose(rows, stage)
    model, tokenizer = from_base(given.base, kinds) if given.stage == "english" else from_files(given.out)
    if given.stage == "all":
        tokenizer = tokenizer_of(add_words(model.bert, tokenizer, given.words))
    encoded = [tokenizer(one["text"], truncation=True, max_length=LONGEST)["input_ids"] for one in examples]
    print(f"{len(examples)} examples, {sum(map(len, encoded)) / len(encoded):.1f} tokens each", flush=True)
    train(model, encoded, examples, kinds, stage)
    embeddings = round_embeddings(model)
    about = {"base": "sentence-transformers/all-MiniLM-L6-v2", "licence": "Apache-2.0", "examples": len(examples)}
    write(model, embeddings, tokenizer, kinds, given.out, about)
    write_reference(model, tokenizer)


if __name__ == "__main__":
    main()
