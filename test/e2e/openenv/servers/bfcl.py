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
    error       {"error_type": "tool_not_found" | "invalid_args", "message"} with "result": null; nothing was executed

A step after the end and `call_tool` before a reset are EXECUTION_ERROR.

A turn agrees where the state of all classes equals the state after the reference calls of that turn, by BFCL's own `state_checker`.
Unlike BFCL's own score, it asks neither for the replies of the reference calls nor for any call at all.

GET /bfcl/references/INDEX gives the reference calls, for a scripted policy:
    {"id": "multi_turn_base_0", "turns": [[{"name": "cd", "arguments": {"folder": "document"}}, ..], ..]}
"""
