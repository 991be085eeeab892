// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/font.h"

asm(".pushsection .rodata\n"
    ".balign 8\n"
    ".globl vitrine_font\n"
    ".hidden vitrine_font\n"
    "vitrine_font:\n"
    ".incbin \"" VITRINE_FONT
    "\"\n"
    ".popsection\n");
