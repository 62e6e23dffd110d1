"""BFCL's tasks, worlds and reference calls, read from its package."""

import ast
import copy
import importlib
import inspect
import json
from functools import cache
from pathlib import Path
from typing import Any

import bfcl_eval
from bfcl_eval.constants.executable_backend_config import (
    CLASS_FILE_PATH_MAPPING,
    MULTI_TURN_FUNC_DOC_FILE_MAPPING,
    STATELESS_CLASSES,
)
from openenv.core.env_server.mcp_types import Tool

Json = dict[str, Any]
World = dict[str, Any]

DATA = Path(bfcl_eval.__file__).parent / "data"
SPLIT = "train"
JSON_TYPES = {"dict": "object", "float": "number", "tuple": "array"}

def lines(name: str) -> list[Json]:
    return [json.loads(line) for line in (DATA / name).read_text().splitlines()]


ROWS = lines("BFCL_v4_multi_turn_base.json")
GROUND_TRUTHS: list[list[list[str]]] = [row["ground_truth"] for row in lines("possible_answer/BFCL_v4_multi_turn_base.json")]


def schema_of(described: Json) -> Json:
    """JSON Schema of a parameter. BFCL names some types differently, and its defaults are text for people."""
    kept = {key: described[key] for key in ("description", "required") if key in described}
    schema = {"type": JSON_TYPES.get(described["type"], described["type"]), **kept}
    if "properties" in described:
        schema["properties"] = {name: schema_of(part) for name, part in described["properties"].items()}
        schema["additionalProperties"] = False
    if "items" in described:
        schema["items"] = schema_of(described["items"])
    return schema


@cache
def tools_of(class_name: str) -> list[Tool]:
    documented = lines(f"multi_turn_func_doc/{MULTI_TURN_FUNC_DOC_FILE_MAPPING[class_name]}")
    return [
        Tool(name=function["name"], description=function["description"], input_schema=schema_of(function["parameters"]))
        for function in documented
    ]


def class_of(name: str) -> type:
    return getattr(importlib.import_module(CLASS_FILE_PATH_MAPPING[name]), name)


def fresh_world(row: Json) -> World:
    world = {name: class_of(name)() for name in row["involved_classes"]}
    for name, instance in world.items():
        if name not in STATELESS_CLASSES:
            instance._load_scenario(copy.deepcopy(row["initial_config"].get(name, {})), long_context=False)
    return world


def reference_call(row: Json, text: str) -> Json:
    """A call of the ground truth as JSON. Arguments by position get the names of their parameters."""
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    name = call.func.id
    owner = next(owner for owner in map(class_of, row["involved_classes"]) if hasattr(owner, name))
    parameters = list(inspect.signature(getattr(owner, name)).parameters)[1:]
    named = dict(zip(parameters, call.args)) | {str(given.arg): given.value for given in call.keywords}
    return {"name": name, "arguments": {key: ast.literal_eval(value) for key, value in named.items()}}


def references(index: int) -> Json:
    """The reference calls of a task, a list for each turn."""
    row = ROWS[index]
    turns = [[reference_call(row, text) for text in turn] for turn in GROUND_TRUTHS[index]]
    return {"id": row["id"], "turns": turns}


def tools_for(row: Json) -> list[Tool]:
    """The functions that a model may call in a task. BFCL withholds some of them in some tasks."""
    withheld = row.get("excluded_function", [])
    return [tool for name in row["involved_classes"] for tool in tools_of(name) if tool.name not in withheld]
