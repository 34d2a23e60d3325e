// A good message with one member changed, for tests of what decoders refuse.
#ifndef MEMPLAN_TESTS_CUDA_MESSAGES_CHANGED_MESSAGE_H_
#define MEMPLAN_TESTS_CUDA_MESSAGES_CHANGED_MESSAGE_H_

#include <string>

#include "nlohmann/json.hpp"

namespace memplan::gpu {

// A change of a good message and the fault it makes.
struct Change {
  std::string name;
  std::string pointer;   // JSON pointer of the member
  nlohmann::json value;  // discarded: the member is taken away
  std::string fault;
};

inline nlohmann::json Removed() {
  return nlohmann::json(nlohmann::json::value_t::discarded);
}

inline nlohmann::json Changed(nlohmann::json message, const Change& change) {
  const nlohmann::json::json_pointer pointer(change.pointer);
  if (change.value.is_discarded()) {
    message.at(pointer.parent_pointer()).erase(pointer.back());
  } else {
    message[pointer] = change.value;
  }
  return message;
}

}  // namespace memplan::gpu

#endif  // MEMPLAN_TESTS_CUDA_MESSAGES_CHANGED_MESSAGE_H_
