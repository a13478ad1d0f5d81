"""A user's system that knows only facts in the prompt, and fails on command."""


def answer(question, history):
    asked = question.rpartition("Question: ")[2].partition("\n")[0]
    if "fails" in asked:
        raise ValueError("no answer here")
    known = "earlier tasks" in question or "one" in asked
    return {"answer": '{"answer": "Oslo"}' if known else '{"answer": "Rome"}'}
