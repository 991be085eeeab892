// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_OPENAPI_H_
#define VITRINE_SERVER_WIRE_HTTP_OPENAPI_H_

namespace vitrine {

// The OpenAPI document of the HTTP port: the file openapi.json in this folder, into which the build inserts the schema
// of an answer.
extern const char kOpenApiJson[];

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_OPENAPI_H_
