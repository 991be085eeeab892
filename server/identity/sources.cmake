# SPDX-License-Identifier: Apache-2.0
# Authentication, authorisation and the audit log.
list(APPEND server_sources
  identity/access_rules.cc
  identity/audit_log.cc
  identity/caller.cc
  identity/guarded_file.cc
  identity/identity.cc
  identity/tls_source.cc
  identity/tls_files.cc
  identity/token_table.cc)
