"""BFCL's multi-turn worlds (`multi_turn_base`, 200 tasks) as a real OpenEnv server with tools.

usage: bfcl.py --port PORT [--max-concurrent-envs N]

The Task API knows it as `bfcl`, with one split, `train`, index 0 to 199.
A task is {"id": "multi_turn_base_0", "split": "train", "index": 0, "turns": 4, "involved_classes": ["TwitterAPI", "GorillaFileSystem"]}.

    reset       {"split": "train", "index": 0} gives {"observation": {"metadata": {"turn": 0, "turns": 4}, "prompt": USER MESSAGE},
                "reward": null, "done": false, "metadata": {"turn": 0, "turns": 4}}
    list_tools  observation.tools = [{"name", "description", "input_schema"}]: the functions of the task's classes, then `next_turn`;
                before a reset `next_turn` alone
    call_tool   observation = {"tool_name", "result": TEXT, "error": null, "metadata": {"turn", "turns"}}, "reward": null, "done": false;
                a function that refuses says so in the text, as JSON: {"error": ".."}; one that raises as "Error during execution: .."
    next_turn   (no arguments) ends the user's turn: "result" is the next user message. After the last turn "result" is "The conversation is
                over.", "done": true, "reward": 1.0 or 0.0, and "metadata" has also "agreed": [true, ..], a value for each turn
    error       {"error_type": "tool_not_found" | "invalid_args", "message"} with "result": null: nothing was executed, as there is
                no such function, or an argument is missing or unknown

A step after the end and `call_tool` before a reset are EXECUTION_ERROR.

A turn agrees where the state of all classes equals the state after the reference calls of that turn, by BFCL's own `state_checker`.
Unlike BFCL's own score, it asks neither for the replies of the reference calls nor for any call at all.

GET /bfcl/references/INDEX gives the reference calls, for a scripted policy:
    {"id": "multi_turn_base_0", "turns": [[{"name": "cd", "arguments": {"folder": "document"}}, ..], ..]}
"""

import argparse
import json
import uuid
from typing import Any

import uvicorn
from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_utils
from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import state_checker
from bfcl_tasks import GROUND_TRUTHS, ROWS, SPLIT, Json, World, fresh_world, references, tools_for
from fastapi import HTTPException
from jsonschema import Draft202012Validator
from openenv.core.env_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.mcp_types import (
    CallToolAction,
    CallToolObservation,
    ListToolsAction,
    ListToolsObservation,
    Tool,
    ToolError,
    ToolErrorType,
)
from openenv.core.env_server.types import Action, Observation, State

NEXT_TURN = Tool(
    name="next_turn",
    description="Ends your turn: call it when everything that the user asked for is done. The result is the next message of the user.",
    input_schema={"type": "object", "properties": {}, "required": [], "additionalProperties": False},
)


class Prompt(Observation):
    prompt: str


class BfclWorlds(Environment[Action, Observation, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._state = State()
        self._index: int | None = None
        self._name = ""
        self._world: World = {}
        self._agreed: list[bool] = []

    def list_splits(self) -> list[str]:
        return [SPLIT]

    def num_tasks(self, split: str) -> int:
        return len(ROWS) if split == SPLIT else 0

    def get_task(self, split: str, index: int) -> Json:
        if not 0 <= index < self.num_tasks(split):
            raise IndexError(f"{split} has no task {index}")
        row = ROWS[index]
        classes, turns = row["involved_classes"], len(row["question"])
        return {"id": row["id"], "split": split, "index": index, "turns": turns, "involved_classes": classes}

    def list_tasks(self, split: str) -> list[Json]:
        return [self.get_task(split, index) for index in range(self.num_tasks(split))]

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, split: str = SPLIT, index: int = 0, **_: Any
    ) -> Prompt:
        self.get_task(split, index)
        self.close()
        self._index, self._agreed = index, []
        self._world = fresh_world(ROWS[index])
        self._state = State(episode_id=episode_id)
        return Prompt(prompt=self._message(0), metadata=self._turn())

    def step(self, action: Action, timeout_s: float | None = None, **_: Any) -> Observation:
        if isinstance(action, ListToolsAction):
            return ListToolsObservation(tools=self._tools())
        assert isinstance(action, CallToolAction)
        if self._index is None or len(self._agreed) == len(GROUND_TRUTHS[self._index]):
            raise RuntimeError("no episode is open: reset first")
        self._state.step_count += 1
        name, arguments = action.tool_name, action.arguments
        tool = next((tool for tool in self._tools() if tool.name == name), None)
        if tool is None:
            return self._refused(name, ToolErrorType.TOOL_NOT_FOUND, f"there is no tool {name}")
        errors = Draft202012Validator(tool.input_schema).iter_errors(arguments)
        # The world judges types: a reference closes ticket "ticket_001", though BFCL's schema wants an integer.
        wrong = next((error.message for error in errors if error.validator != "type"), None)
        if wrong is not None:
            return self._refused(name, ToolErrorType.INVALID_ARGS, wrong)
        if name == NEXT_TURN.name:
            return self._next_turn()
        return CallToolObservation(tool_name=name, result=self._call(name, arguments), metadata=self._turn())

    @property
    def state(self) -> State:
        return self._state

    def close(self) -> None:
        # BFCL never removes the worlds of the references from its module's globals.
        kept = vars(multi_turn_utils)
        for name in [key for key in list(kept) if self._name != "" and key.startswith(self._name)]:
            del kept[name]
        self._name = f"reference_{uuid.uuid4().hex}"

    def _tools(self) -> list[Tool]:
        return [NEXT_TURN] if self._index is None else [*tools_for(ROWS[self._index]), NEXT_TURN]

    def _message(self, turn: int) -> str:
        return ROWS[self._index or 0]["question"][turn][0]["content"]

    def _turn(self) -> Json:
        return {"turn": len(self._agreed), "turns": len(GROUND_TRUTHS[self._index or 0])}

    def _refused(self, name: str, kind: ToolErrorType, message: str) -> Observation:
        error = ToolError(error_type=kind, message=message)
        return CallToolObservation(tool_name=name, error=error, metadata=self._turn())

    def _call(self, name: str, arguments: Json) -> str:
        """Calls a function of the world, and gives the text that BFCL shows to its models."""
        owner = next(instance for instance in self._world.values() if hasattr(instance, name))
        try:
            result = getattr(owner, name)(**arguments)
            return json.dumps(result) if isinstance(result, dict) else str(result)
        except Exception as error:
            return f"Error during execution: {error}"

    def _next_turn(self) -> Observation:
        name, index = NEXT_TURN.name, self._index or 0
        self._agreed.append(self._agrees(index, len(self._agreed)))
        if len(self._agreed) < len(GROUND_TRUTHS[index]):
            return CallToolObservation(tool_name=name, result=self._message(len(self._agreed)), metadata=self._turn())
        return CallToolObservation(
            tool_name=name,
            result="The conversation is over.",
            metadata=self._turn() | {"agreed": self._agreed},
            reward=1.0 if all(self._agreed) else 0.0,
            done=True,
        )

    def _agrees(self, index: int, turn: int) -> bool:
        """Runs the reference calls of a turn in a world of their own, as BFCL does, and compares."""
        row = ROWS[index]
        calls, config, classes = GROUND_TRUTHS[index][turn], row["initial_config"], row["involved_classes"]
        _, reference = multi_turn_utils.execute_multi_turn_func_call(calls, config, classes, self._name, row["id"])
        try:
            return bool(state_checker(self._world, reference)["valid"])
        except Exception:
            # calls can leave a world that cannot be compared, such as a folder within itself
            return False


def reference_calls(index: int) -> Json:
    if not 0 <= index < len(ROWS):
        raise HTTPException(404, f"there is no task {index}")
    return references(index)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--max-concurrent-envs", type=int, default=64)
    flags = parser.parse_args()
    limit = flags.max_concurrent_envs
    app = create_app(BfclWorlds, CallToolAction, CallToolObservation, env_name="bfcl", max_concurrent_envs=limit)
    app.get("/bfcl/references/{index}")(reference_calls)
    uvicorn.run(app, host="127.0.0.1", port=flags.port, log_level="warning", timeout_graceful_shutdown=1)


if __name__ == "__main__":
    main()
