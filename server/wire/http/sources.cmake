# SPDX-License-Identifier: Apache-2.0
# Parts that all handlers of the HTTP port share, and the handler for raw image files.
list(APPEND server_sources
  wire/http/address.cc
  wire/http/attention_parameter.cc
  wire/http/authorize.cc
  wire/http/classify_front.cc
  wire/http/classify_query.cc
  wire/http/cors.cc
  wire/http/curl_line.cc
  wire/http/json_document.cc
  wire/http/models_json.cc
  wire/http/page_files.cc
  wire/http/refusal.cc)
