// Who asked for memory, in words.
#ifndef MEMPLAN_CLIENT_CLI_ATTRIBUTION_WORDS_H_
#define MEMPLAN_CLIENT_CLI_ATTRIBUTION_WORDS_H_

#include <string>

#include "memplan/v1/plan.pb.h"

namespace memplan {

// `822 MiB for aten::convolution_backward, in step1/backward`; with the operator
// inside that asked, where that is another.
std::string RequestWords(const v1::AttributedRequest& request);

// That more may be needed with other contents, how much, and what to do.
std::string ContentsWords(const v1::ContentsDependence& contents);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_ATTRIBUTION_WORDS_H_
