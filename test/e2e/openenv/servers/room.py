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
    add       observation.result = {"content": [{"type": "text", "text": "7", ..}], "structured_content": {"result": 7}, "data": 7, "is_error": false, "meta": ..}
    lookup    the text is "The lamp costs 3, its delivery 4."
    submit    the text is "Submitted."; "reward" 1.0 for the right sum, else 0.0; "done": true
    others    "reward": null, "done": false; where the tool failed, observation.error = {"error_type": string, "message": string}, result null

What goes wrong on demand, as the text of the action and as the topic of `lookup`:
    "!raise"  raises: EXECUTION_ERROR of kind `text`, observation.error of kind `tools`, as does the tool `fail`
    "!exit"   ends the process of the server, code 3
    "!hang"   never comes back; its session keeps its place when the socket drops
A step before a reset and a step after the end are EXECUTION_ERROR. `--broken`: no environment opens, FACTORY_ERROR.
"""
