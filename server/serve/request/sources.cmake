# SPDX-License-Identifier: Apache-2.0
# Checks a request's message, plans the request and passes it on.
list(APPEND server_sources
  serve/request/answer_hold.cc
  serve/request/classify_service.cc
  serve/request/compute_probe.cc
  serve/request/drain.cc
  serve/request/plan_request.cc
  serve/request/received.cc)
