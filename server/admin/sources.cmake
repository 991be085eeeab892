# SPDX-License-Identifier: Apache-2.0
# What operators change while the server runs.
list(APPEND server_sources
  admin/admin_rollback.cc
  admin/admin_service.cc
  admin/canary_watch.cc
  admin/override_edits.cc
  admin/serving_status.cc)
