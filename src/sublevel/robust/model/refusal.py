"""Why a constraint cannot be made robust, before it is known which one it is."""


class Refusal(Exception):
    """The reason and the way out; `take_apart` adds the constraint as written."""
