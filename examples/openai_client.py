"""Ask with OpenAI's own client: a question, and a follow-up whose answer is streamed.

    export VERACITY_URL=http://127.0.0.1:8347 VERACITY_TOKEN=…
    python openai_client.py "How many days of annual leave do staff in Dublin have?" \\
        "And how many unused days move into the next year?"

(The handbook of `make serve` answers both.)

Any OpenAI client works the same way: set the base URL, the token as API key, and the model "veracity". docs/openai.md
describes the response's field `veracity`. Needs `pip install openai`.
"""

import os
import sys

from openai import OpenAI, OpenAIError
from openai.types.chat import ChatCompletionMessageParam

URL = os.environ.get("VERACITY_URL", "http://127.0.0.1:8347")
TOKEN = os.environ.get("VERACITY_TOKEN", "").strip()
NO_TOKEN = "Set VERACITY_TOKEN to the token from `veracity users add` or from the server's address, after #token=."


def main(question: str, follow_up: str) -> None:
    if not (TOKEN and TOKEN.isascii() and TOKEN.isprintable()):
        raise SystemExit(NO_TOKEN)
    with OpenAI(base_url=f"{URL}/v1", api_key=TOKEN) as client:
        messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": question}]
        answer = client.chat.completions.create(model="veracity", messages=messages)
        print(answer.choices[0].message.content)
        run = (answer.model_extra or {})["veracity"]
        print(f"\n({run['status']}, run {run['run_id']})\n")
        if run["status"] == "awaiting_approval":
            print(f"It waits for approval: see {URL}/#/inbox\n")

        messages.append({"role": "assistant", "content": answer.choices[0].message.content})
        messages.append({"role": "user", "content": follow_up})
        for chunk in client.chat.completions.create(model="veracity", messages=messages, stream=True):
            print(chunk.choices[0].delta.content or "", end="", flush=True)
            if run := (chunk.model_extra or {}).get("veracity"):
                print(f"\n\n({run['status']}, run {run['run_id']})")
                for citation in run["citations"]:
                    print(f"[{citation['number']}] {citation['title']}: “{citation['quote']}”")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    try:
        main(sys.argv[1], sys.argv[2])
    except OpenAIError as error:
        raise SystemExit(str(error)) from None
