"""The room as an environment of tools: the shapes are in room.py."""

from typing import Any

from fastmcp import FastMCP
from openenv.core.env_server.mcp_environment import MCPEnvironment
from openenv.core.env_server.mcp_types import CallToolAction
from openenv.core.env_server.types import Action, Observation, State
from room_tasks import OBJECTS, RoomTasks, misbehave


class Prompt(Observation):
    prompt: str


class ToolRoom(RoomTasks, MCPEnvironment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__(self._tools())
        self._state = State()
        self._object: str | None = None
        self._reward: float | None = None

    def _tools(self) -> FastMCP:
        tools = FastMCP("room")

        @tools.tool()
        def add(a: int, b: int) -> int:
            """Adds two numbers."""
            return a + b

        @tools.tool()
        def lookup(topic: str) -> str:
            """Says what is known about an object of the room."""
            misbehave(topic)
            if topic not in OBJECTS:
                return f"Nothing is known about {topic}."
            _, _, price, delivery = OBJECTS[topic]
            return f"The {topic} costs {price}, its delivery {delivery}."

        @tools.tool()
        def submit(answer: str) -> str:
            """Gives the final answer and ends the episode."""
            _, _, price, delivery = OBJECTS[self._object or ""]
            self._reward = 1.0 if answer.strip() == str(price + delivery) else 0.0
            return "Submitted."

        @tools.tool()
        def fail() -> str:
            """Never works."""
            raise RuntimeError("this tool never works")

        return tools

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, split: str = "train", index: int = 0, **_: Any
    ) -> Prompt:
        self._object = self.get_task(split, index)["object"]
        self._state = State(episode_id=episode_id)
        self._reward = None
        return Prompt(prompt=f"What do the {self._object} and its delivery cost together?")

    async def step_async(self, action: Action, timeout_s: float | None = None, **more: Any) -> Observation:
        if isinstance(action, CallToolAction):
            if self._object is None or self._reward is not None:
                raise RuntimeError("no episode is open: reset first")
            self._state.step_count += 1
        observation = await super().step_async(action, timeout_s, **more)
        if isinstance(action, CallToolAction) and self._reward is not None:
            observation.reward, observation.done = self._reward, True
        return observation

    def _step_impl(self, action: Action, timeout_s: float | None = None, **_: Any) -> Observation:
        raise RuntimeError("the room knows tools alone")

    @property
    def state(self) -> State:
        return self._state
