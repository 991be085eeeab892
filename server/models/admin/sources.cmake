# SPDX-License-Identifier: Apache-2.0
# Changes by operators while the server runs.
list(APPEND server_sources
  models/admin/admin_rollback.cc
  models/admin/admin_service.cc
  models/admin/canary_watch.cc)
