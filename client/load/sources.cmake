# `vitrine bench`: load on a server, and what it does to latency.
set(load_sources)
