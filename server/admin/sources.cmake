# SPDX-License-Identifier: Apache-2.0
# Changes by operators while the server runs.
list(APPEND server_sources
  admin/admin_rollback.cc
  admin/admin_service.cc
  admin/canary_watch.cc
  admin/describe_serving.cc)
