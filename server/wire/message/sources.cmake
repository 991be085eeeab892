# SPDX-License-Identifier: Apache-2.0
# Parsers that leave large fields in the receive buffer.
list(APPEND server_sources
  wire/message/read_message.cc
  wire/message/walker.cc)
