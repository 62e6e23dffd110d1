"""OpenAI's and Anthropic's Python clients, unmodified, against a serving whose model is scripted.

usage: sdks.py URL; prints the name of each check that holds, and the ids of its answers; stops at the first that fails.
The model calls get_weather for a question about the weather of a city, and answers its result with "I see: RESULT". It
refuses "busy" twice (429 with Retry-After, then 500), never ends its answer to "silence", and otherwise answers "Hello there".
"""

import json
import sys
import threading
import time

import anthropic
import openai

url = sys.argv[1]
chat = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
claude = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}
CHAT_TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS}}]
RESPONSE_TOOLS = [{"type": "function", "name": "get_weather", "parameters": PARAMETERS, "strict": False}]
CLAUDE_TOOLS = [{"name": "get_weather", "input_schema": PARAMETERS}]


def user(text):
    return {"role": "user", "content": text}


def raises(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


def chat_whole_and_streamed():
    answer = chat.chat.completions.create(model="clawloop", messages=[user("hi (py chat)")])
    assert answer.choices[0].message.content == "Hello there"
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0
    options = {"include_usage": True}
    parts = list(
        chat.chat.completions.create(
            model="clawloop", messages=[user("hi (py stream)")], stream=True, stream_options=options
        )
    )
    text = "".join(part.choices[0].delta.content or "" for part in parts if part.choices)
    assert text == "Hello there"
    assert len([part for part in parts if part.choices and part.choices[0].delta.content]) == 2
    assert parts[-1].usage.completion_tokens == answer.usage.completion_tokens
    return [answer.id, parts[0].id]


def chat_tools():
    ids = []
    for stream in (False, True):
        messages = [user(f"Is it warm in Zurich? (py chat tools, {stream})")]
        if stream:
            with chat.chat.completions.stream(model="clawloop", messages=messages, tools=CHAT_TOOLS) as events:
                first = events.get_final_completion()
        else:
            first = chat.chat.completions.create(model="clawloop", messages=messages, tools=CHAT_TOOLS)
        message = first.choices[0].message
        assert first.choices[0].finish_reason == "tool_calls"
        assert json.loads(message.tool_calls[0].function.arguments) == {"city": "Zurich"}
        messages += [
            message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "4 degrees"},
        ]
        second = chat.chat.completions.create(model="clawloop", messages=messages, tools=CHAT_TOOLS)
        assert second.choices[0].message.content == "I see: 4 degrees"
        ids += [first.id, second.id]
    return ids


def responses():
    answer = chat.responses.create(model="clawloop", input="hi (py responses)", instructions="Be kind.")
    assert answer.output_text == "Hello there" and answer.status == "completed"
    assert answer.usage.output_tokens > 0
    with chat.responses.stream(model="clawloop", input="hi (py responses stream)") as events:
        kinds = [event.type for event in events]
        streamed = events.get_final_response()
    assert streamed.output_text == "Hello there"
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed"
    assert kinds.count("response.output_text.delta") == 2
    return [answer.id, streamed.id]


def response_tools():
    first = chat.responses.create(
        model="clawloop", input="Is it warm in Zurich? (py response tools)", tools=RESPONSE_TOOLS
    )
    call = first.output[0]
    assert call.type == "function_call" and json.loads(call.arguments) == {"city": "Zurich"}
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "4 degrees"}
    second = chat.responses.create(
        model="clawloop", input=[result], previous_response_id=first.id, tools=RESPONSE_TOOLS
    )
    assert second.output_text == "I see: 4 degrees"
    return [first.id, second.id]


def messages():
    answer = claude.messages.create(
        model="clawloop", max_tokens=50, system="Be kind.", messages=[user("hi (py messages)")]
    )
    assert answer.content[0].text == "Hello there" and answer.stop_reason == "end_turn"
    assert answer.usage.input_tokens > 0 and answer.usage.output_tokens > 0
    with claude.messages.stream(
        model="clawloop", max_tokens=50, messages=[user("hi (py messages stream)")]
    ) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == "Hello there" and final.usage.output_tokens == answer.usage.output_tokens
    return [answer.id, final.id]


def message_tools():
    asked = [user("Is it warm in Zurich? (py message tools)")]
    first = claude.messages.create(model="clawloop", max_tokens=50, messages=asked, tools=CLAUDE_TOOLS)
    call = first.content[0]
    assert first.stop_reason == "tool_use" and call.name == "get_weather" and call.input == {"city": "Zurich"}
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "4 degrees"}
    asked += [
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": [result]},
    ]
    second = claude.messages.create(model="clawloop", max_tokens=50, messages=asked, tools=CLAUDE_TOOLS)
    assert second.content[0].text == "I see: 4 degrees"
    return [first.id, second.id]


def errors():
    hello = [user("hi (py errors)")]
    refused = raises(
        openai.BadRequestError,
        lambda: chat.chat.completions.create(
            model="clawloop", messages=hello, modalities=["audio"]
        ),
    )
    assert refused.param == "modalities" and refused.type == "invalid_request_error"
    raises(openai.NotFoundError, lambda: chat.chat.completions.create(model="clawloop@v99", messages=hello))
    raises(openai.BadRequestError, lambda: chat.responses.create(model="clawloop", input="x", background=True))
    failed = raises(
        anthropic.BadRequestError,
        lambda: claude.messages.create(model="clawloop", max_tokens=0, messages=hello),
    )
    assert failed.body["error"]["type"] == "invalid_request_error" and failed.request_id
    raises(openai.RateLimitError, lambda: chat.chat.completions.create(model="clawloop", messages=[user("busy A")]))
    return []


def retries():
    started = time.monotonic()
    answer = chat.with_options(max_retries=2).chat.completions.create(
        model="clawloop", messages=[user("busy B")]
    )
    assert answer.choices[0].message.content == "Hello there"
    assert time.monotonic() - started > 1, "Retry-After was not kept to"
    other = claude.with_options(max_retries=2).messages.create(
        model="clawloop", max_tokens=50, messages=[user("busy C")]
    )
    assert other.content[0].text == "Hello there"
    return [answer.id, other.id]


def aborts():
    stream = chat.chat.completions.create(model="clawloop", messages=[user("silence")], stream=True)
    first = next(iter(stream))
    stream.close()
    slow = chat.with_options(timeout=0.5)
    raises(openai.APITimeoutError, lambda: slow.chat.completions.create(model="clawloop", messages=[user("silence")]))
    return [first.id]


def in_parallel():
    answers = []

    def ask(number):
        answers.append(chat.chat.completions.create(model="clawloop", messages=[user(f"hi (py {number})")]))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({answer.id for answer in answers}) == 8
    return [answer.id for answer in answers]


for check in (
    chat_whole_and_streamed,
    chat_tools,
    responses,
    response_tools,
    messages,
    message_tools,
    errors,
    retries,
    aborts,
    in_parallel,
):
    print(json.dumps({"check": check.__name__, "ids": check()}), flush=True)
