"""A system of a stranger's: knows what it finds in the prompt, fails where it is told to."""


def answer(question, history):
    asked = question.rpartition("Question: ")[2].partition("\n")[0]
    if "fails" in asked:
        raise ValueError("no answer here")
    known = "earlier tasks" in question or "one" in asked
    return {"answer": '{"answer": "Oslo"}' if known else '{"answer": "Rome"}'}
