// SPDX-License-Identifier: Apache-2.0
// Empty source, because a target with a precompiled header needs one.
