# SPDX-License-Identifier: Apache-2.0
# Messages, read where they lie in what was received.
list(APPEND server_sources
  wire/message/read_message.cc
  wire/message/walker.cc)
