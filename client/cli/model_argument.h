// What MODEL on a command line means: a file, uploaded unless the daemon has it,
// or the SHA-256, or its beginning, of a model the daemon has.
#ifndef MEMPLAN_CLIENT_CLI_MODEL_ARGUMENT_H_
#define MEMPLAN_CLIENT_CLI_MODEL_ARGUMENT_H_

#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/console.h"
#include "client/client.h"

namespace memplan {

// Uploads a file under `name` (empty: its own), drawing a bar; says what came of
// it.
absl::StatusOr<v1::UploadModelResponse> UploadModelFile(
    Client& client, const std::string& path, const std::string& name,
    Console& console, const std::stop_token& stop);

// The stored model whose SHA-256 begins with `digits`. kNotFound if there is
// none; kInvalidArgument if there are several, or if it is no hexadecimal text.
absl::StatusOr<v1::Model> FindStoredModel(Client& client,
                                          const std::string& digits);

// The model that `model` means. A file of that name comes first.
absl::StatusOr<v1::Model> ResolveModel(Client& client, const std::string& model,
                                       Console& console,
                                       const std::stop_token& stop);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_MODEL_ARGUMENT_H_
