# What a run needs, and no project: its folder is mounted where `docs/team.md` says, at the path that it has elsewhere.
# In a project of `benchloom init`: docker build --build-arg BENCHLOOM="benchloom==VERSION" .
FROM python:3.11-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends bubblewrap git \
    && rm -rf /var/lib/apt/lists/*
COPY requirements.lock /tmp/requirements.lock
RUN pip install --no-cache-dir --no-deps --require-hashes --requirement /tmp/requirements.lock
ARG BENCHLOOM=""
RUN test -z "$BENCHLOOM" || pip install --no-cache-dir --no-deps "$BENCHLOOM"
ENV PREFECT_SERVER_ANALYTICS_ENABLED=false DO_NOT_TRACK=1
RUN useradd --create-home --uid 1000 benchloom
USER benchloom
