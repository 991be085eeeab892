// SPDX-License-Identifier: Apache-2.0
// An empty source. A target with a precompiled header needs a source.
