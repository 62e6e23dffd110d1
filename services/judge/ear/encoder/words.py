"""Pieces of words in the ear's languages, for an encoder whose vocabulary is English.

The multilingual BERT (Devlin et al. 2019; Apache-2.0) has vectors of such pieces. A linear map, fitted on the pieces that
both vocabularies have, takes them into the space of the encoder. There a word has some meaning before the training, and
keeps it if no message has it.
"""
import unicodedata

import torch
from transformers import AutoModel, AutoTokenizer
from wordfreq import top_n_list

LANGUAGES = ["de", "es", "fr", "ja", "pt", "zh"]
WORDS = 10_000  # most frequent words of each language
RIDGE = 1.0  # of the linear map


def add_words(bert, tokenizer, source):
    """Adds rows to the embeddings of `bert`. Returns the longer vocabulary, in the order of the ids."""
    theirs = AutoTokenizer.from_pretrained(source)
    vectors = AutoModel.from_pretrained(source).embeddings.word_embeddings.weight.detach()
    their_ids, ids = theirs.get_vocab(), tokenizer.get_vocab()
    own = bert.embeddings.word_embeddings.weight.detach()

    shared = [piece for piece in ids if piece in their_ids and not piece.startswith("[")]
    inputs = torch.stack([vectors[their_ids[piece]] for piece in shared])
    targets = torch.stack([own[ids[piece]] for piece in shared])
    middle = inputs.mean(0), targets.mean(0)
    inputs, targets = inputs - middle[0], targets - middle[1]
    ridge = RIDGE * torch.eye(inputs.shape[1])
    mapping = torch.linalg.solve(inputs.T @ inputs + ridge, inputs.T @ targets)

    found = {}
    for piece in pieces_of_languages(theirs):
        name = plain(piece)
        if name not in ids and name not in ("", "##"):
            found.setdefault(name, []).append(vectors[their_ids[piece]])
    mapped = torch.stack([(torch.stack(rows).mean(0) - middle[0]) @ mapping + middle[1] for rows in found.values()])
    # a linear map makes vectors short; as long as the others, they count as much
    mapped = middle[1] + (mapped - middle[1]) * (targets.norm(dim=1).mean() / (mapped - middle[1]).norm(dim=1, keepdim=True))
    print(f"{len(shared)} pieces in both vocabularies, {len(found)} pieces added", flush=True)
    longer = torch.cat([own, mapped])
    bert.embeddings.word_embeddings = torch.nn.Embedding.from_pretrained(longer, freeze=False)
    bert.config.vocab_size = len(longer)
    return [*sorted(ids, key=ids.get), *found]


def pieces_of_languages(tokenizer):
    """Frequent words that are one piece, and all pieces in the scripts of Chinese and Japanese that they have."""
    found = {}
    for language in LANGUAGES:
        for word in top_n_list(language, WORDS):
            for form in (word, word.capitalize()):
                pieces = tokenizer.tokenize(form)
                if len(pieces) == 1 or language in ("ja", "zh"):
                    found.update(dict.fromkeys(piece for piece in pieces if piece != tokenizer.unk_token))
    return found


def plain(piece):
    """As a tokenizer without case and accents has it."""
    letters = unicodedata.normalize("NFD", piece)
    return "".join(letter for letter in letters if unicodedata.category(letter) != "Mn").lower()
