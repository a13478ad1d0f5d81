"""Build long-form questions over databases, have agents answer the questions, and judge the answers.

"The paper" in this package is "On Evaluating the Integration of Reasoning and Action in LLM Agents with
Database Question Answering" by Nan et al.
"""
