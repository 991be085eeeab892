# SPDX-License-Identifier: Apache-2.0
# Pages for operators and probes over plain HTTP.
list(APPEND server_sources
  pages/http_endpoint.cc
  pages/status.cc
  pages/status_reader.cc
  pages/version_families.cc)
