#include "client/cli/model_argument.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/cli/progress.h"
#include "client/cli/words.h"
#include "client/errors.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

constexpr size_t kSha256Digits = 64;
constexpr size_t kMaxNameBytes = 128;  // of UploadHeader.display_name

bool IsHexadecimal(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isxdigit(c);
  });
}

// The longest beginning of `name` of whole characters that a header takes.
std::string ShortenedName(std::string name) {
  if (name.size() <= kMaxNameBytes) return name;
  size_t end = kMaxNameBytes;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) {
    --end;
  }
  name.resize(end);
  return name;
}

// What an upload waits for before it goes on.
std::string WaitWords(const absl::Status& status) {
  if (ErrorReason(status) == "UPLOAD_IN_PROGRESS") {
    return "another upload of this file is in progress; waiting for it";
  }
  return absl::StrCat("the upload broke off (", ErrorText(status),
                      "); it goes on where it ended");
}

}  // namespace

absl::StatusOr<v1::UploadModelResponse> UploadModelFile(
    Client& client, const std::string& path, const std::string& name,
    Console& console, const std::stop_token& stop) {
  const std::string display_name =
      name.empty() ? ShortenedName(std::filesystem::path(path).filename())
                   : name;
  std::string last_words;
  const UploadObserver observer = {
      .on_progress =
          [&](int64_t sent, int64_t total) {
            console.ShowProgress(UploadLine(path, sent, total));
          },
      .on_wait =
          [&](const absl::Status& status) {
            console.ClearProgress();
            // Once is enough for as long as it waits for the same.
            const std::string words = WaitWords(status);
            if (words != last_words) console.Say(words);
            last_words = words;
          }};
  absl::StatusOr<v1::UploadModelResponse> response =
      client.UploadModel(path, display_name, observer, stop);
  console.ClearProgress();
  if (!response.ok()) return response.status();
  const v1::Model& model = response->model();
  console.Say(response->already_stored()
                  ? absl::StrCat(path, " is stored already, as ",
                                 ShortHash(model.sha256()))
                  : absl::StrCat("uploaded ", path, " (",
                                 BytesWords(model.size_bytes()), ") as ",
                                 ShortHash(model.sha256())));
  return response;
}

absl::StatusOr<v1::Model> FindStoredModel(Client& client,
                                          const std::string& digits) {
  if (!IsHexadecimal(digits) || digits.size() > kSha256Digits) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", digits,
                     "\" is no SHA-256 of a model or its beginning; memplan "
                     "models list shows them"));
  }
  const std::string wanted = absl::AsciiStrToLower(digits);
  if (wanted.size() == kSha256Digits) return client.GetModel(wanted);
  MEMPLAN_ASSIGN_OR_RETURN(const v1::ListModelsResponse stored,
                           client.ListModels());
  const v1::Model* found = nullptr;
  for (const v1::Model& model : stored.models()) {
    if (!model.sha256().starts_with(wanted)) continue;
    if (found != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("several stored models begin with ", wanted,
                       "; write more digits (memplan models list --output "
                       "json shows them all)"));
    }
    found = &model;
  }
  if (found == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("no stored model's SHA-256 begins with ", wanted,
                     "; memplan models list shows what is stored"));
  }
  return *found;
}

absl::StatusOr<v1::Model> ResolveModel(Client& client, const std::string& model,
                                       Console& console,
                                       const std::stop_token& stop) {
  std::error_code error;
  if (std::filesystem::exists(model, error)) {
    MEMPLAN_ASSIGN_OR_RETURN(v1::UploadModelResponse response,
                             UploadModelFile(client, model, "", console, stop));
    return std::move(*response.mutable_model());
  }
  if (!IsHexadecimal(model)) {
    return absl::NotFoundError(absl::StrCat(
        "there is no file ", model,
        " (and it is no SHA-256 of a stored model); MODEL is a file that "
        "torch.jit.save wrote, or what memplan models list shows"));
  }
  return FindStoredModel(client, model);
}

}  // namespace memplan
