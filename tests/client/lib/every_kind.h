// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_CLIENT_LIB_EVERY_KIND_H_
#define VITRINE_TESTS_CLIENT_LIB_EVERY_KIND_H_

#include <string>
#include <vector>

#include "tests/client/lib/small_server.h"

namespace vitrine {

// Returns version 3 of "sizes": a ViT with patches of 4 pixels and up to 64 tokens. It offers every kind of attention
// with 2 layers and 3 heads each, and every feature with width 4.
v1::ModelVersion ModelWithEveryKind();

// Answers with the shapes of that model: the requested attention maps, in the order of the contract, and features that
// encode the image's width. Map values rise from cell to cell from 1; values of WEIGHTS have both signs. Returns
// INVALID_ARGUMENT if the bytes are not an image.
grpc::Status AnswerWithEveryKind(const v1::ClassifyRequest& request, v1::ClassifyResponse* response);

// Returns a server with that model, for unary and streaming calls.
SmallServer::Methods ServerWithEveryKind();

// Return little-endian bytes.
std::string HalfBytes(const std::vector<int>& values);  // whole numbers from -2048 to 2048
std::string FloatBytes(const std::vector<float>& values);

// A grey PNG file.
std::string GreyPng(int width, int height);

}  // namespace vitrine

#endif  // VITRINE_TESTS_CLIENT_LIB_EVERY_KIND_H_
