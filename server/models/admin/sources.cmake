# SPDX-License-Identifier: Apache-2.0
# What operators change while the server runs.
list(APPEND server_sources
  models/admin/admin_rollback.cc
  models/admin/admin_service.cc
  models/admin/canary_watch.cc)
