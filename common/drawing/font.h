// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DRAWING_FONT_H_
#define VITRINE_COMMON_DRAWING_FONT_H_

// The TrueType file of DejaVu Sans.
extern "C" __attribute__((visibility("hidden"))) const unsigned char vitrine_font[];

#endif  // VITRINE_COMMON_DRAWING_FONT_H_
