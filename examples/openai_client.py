"""Ask with OpenAI's own client: once whole, once streamed, and a question that follows on the first.

    export VERACITY_URL=http://127.0.0.1:8347 VERACITY_TOKEN=…
    python openai_client.py "How many days of annual leave do staff in Dublin have?" \\
        "And how many unused days move into the next year?"

(The handbook of `make serve` answers both.)

Any program that speaks to OpenAI works the same way: base URL, token as its key, model "veracity". docs/openai.md tells
what the field `veracity` of a response holds. Needs `pip install openai`.
"""

import os
import sys

from openai import OpenAI, OpenAIError
from openai.types.chat import ChatCompletionMessageParam

URL = os.environ.get("VERACITY_URL", "http://127.0.0.1:8347")
TOKEN = os.environ.get("VERACITY_TOKEN", "").strip()
NO_TOKEN = "Set VERACITY_TOKEN: what `veracity users add` printed, or what follows #token= in the server's address."


def main(question: str, follow_up: str) -> None:
    if not (TOKEN and TOKEN.isascii() and TOKEN.isprintable()):
        raise SystemExit(NO_TOKEN)
    with OpenAI(base_url=f"{URL}/v1", api_key=TOKEN) as client:
        messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": question}]
        answer = client.chat.completions.create(model="veracity", messages=messages)
        print(answer.choices[0].message.content)
        examined = (answer.model_extra or {})["veracity"]
        print(f"\n({examined['status']}, run {examined['run_id']})\n")
        if examined["status"] == "awaiting_approval":
            print(f"A person is asked first: see {URL}/#/inbox\n")

        messages.append({"role": "assistant", "content": answer.choices[0].message.content})
        messages.append({"role": "user", "content": follow_up})
        for chunk in client.chat.completions.create(model="veracity", messages=messages, stream=True):
            print(chunk.choices[0].delta.content or "", end="", flush=True)
            if told := (chunk.model_extra or {}).get("veracity"):
                print(f"\n\n({told['status']}, run {told['run_id']})")
                for cited in told["citations"]:
                    print(f"[{cited['number']}] {cited['title']}: “{cited['quote']}”")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    try:
        main(sys.argv[1], sys.argv[2])
    except OpenAIError as problem:
        raise SystemExit(str(problem)) from None
