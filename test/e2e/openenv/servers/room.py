"""A small room as a real OpenEnv server: an environment of text, or an environment of tools.

usage: room.py --port PORT [--kind text|tools] [--max-concurrent-envs N] [--session-timeout SECONDS] [--broken]

Both kinds have the same six tasks: split `train` (index 0 to 3) and split `test` (index 0 and 1). The name of
the environment in the Task API is `room`. A task is {"id": "train-0", "split": "train", "index": 0, "object": "lamp"}.
`reset` takes `split` (train where it is missing), `index` (0 where it is missing), `seed` and `episode_id`.

    train  0 lamp: red, costs 3 + 4     1 door: green, 5 + 6    2 chair: blue, 7 + 8    3 rug: white, 9 + 1
    test   0 vase: black, costs 2 + 3   1 clock: yellow, 4 + 5

Kind `text`: the action is {"text": string}.
    reset     {"observation": {"metadata": {}, "prompt": "Which colour is the lamp?", "tries_left": 3}, "reward": null, "done": false}
    right     {"observation": {"metadata": {}, "prompt": "Right.", "tries_left": 2}, "reward": 1.0, "done": true}
    wrong     {"observation": {"metadata": {}, "prompt": "Wrong. Which colour is the lamp?", "tries_left": 2}, "reward": 0.0, "done": false}
    3rd wrong {"observation": {"metadata": {}, "prompt": "Wrong.", "tries_left": 0}, "reward": 0.0, "done": true}

Kind `tools`: the action is {"type": "list_tools"} or {"type": "call_tool", "tool_name": string, "arguments": object}.
    reset     {"observation": {"metadata": {}, "prompt": "What do the lamp and its delivery cost together?"}, "reward": null, "done": false}
    tools     add(a: integer, b: integer), lookup(topic: string), submit(answer: string), fail()
    add       observation.result = {"content": [{"type": "text", "text": "7", "annotations": null, "meta": null}],
              "structured_content": {"result": 7}, "meta": {"fastmcp": {"wrap_result": true}}, "data": 7, "is_error": false}
    lookup    the text is "The lamp costs 3, its delivery 4."
    submit    the text is "Submitted."; "reward" 1.0 for the right sum, else 0.0; "done": true
    others    "reward": null, "done": false; where the tool failed, observation.error = {"error_type": string, "message": string}, result null

Failures on demand, as the text of an action or the topic of `lookup`:
    "!raise"  raises: EXECUTION_ERROR of kind `text`, observation.error of kind `tools`, as does the tool `fail`
    "!exit"   ends the process of the server, code 3
    "!hang"   kind `text`: no reply, and the session keeps its place after its socket drops;
              kind `tools`: after 30 s an observation.error of type "timeout"
A step before a reset and a step after the end are EXECUTION_ERROR, but `list_tools` always works. With `--broken`
no environment opens: FACTORY_ERROR, then the server closes the socket.
"""

import argparse

import uvicorn
from openenv.core.env_server import create_app
from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
from openenv.core.env_server.types import ConcurrencyConfig
from text_room import TextAction, TextObservation, TextRoom
from tool_room import ToolRoom


class BrokenRoom(TextRoom):
    def __init__(self) -> None:
        raise RuntimeError("this server opens no environment")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--kind", choices=["text", "tools"], default="text")
    parser.add_argument("--max-concurrent-envs", type=int, default=64)
    parser.add_argument("--session-timeout", type=float)
    parser.add_argument("--broken", action="store_true")
    flags = parser.parse_args()
    room, action, seen = (
        (TextRoom, TextAction, TextObservation)
        if flags.kind == "text"
        else (ToolRoom, CallToolAction, CallToolObservation)
    )
    limits = ConcurrencyConfig(max_concurrent_envs=flags.max_concurrent_envs, session_timeout=flags.session_timeout)
    app = create_app(BrokenRoom if flags.broken else room, action, seen, env_name="room", concurrency_config=limits)
    uvicorn.run(app, host="127.0.0.1", port=flags.port, log_level="warning", timeout_graceful_shutdown=1)


if __name__ == "__main__":
    main()
