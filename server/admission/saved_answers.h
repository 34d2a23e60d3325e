// Tells callers what became of their saves, on a thread of its own: the next ones
// are written meanwhile, and an answer costs as much as a row.
#ifndef MEMPLAN_SERVER_ADMISSION_SAVED_ANSWERS_H_
#define MEMPLAN_SERVER_ADMISSION_SAVED_ANSWERS_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"

namespace memplan {

// Thread-safe.
class SavedAnswers {
 public:
  using Done = std::function<void(const absl::Status&)>;

  SavedAnswers() : thread_([this] { TellUntilStopped(); }) {}
  ~SavedAnswers() { Stop(); }
  SavedAnswers(const SavedAnswers&) = delete;
  SavedAnswers& operator=(const SavedAnswers&) = delete;

  // Each of `all` is called with `status`, in order, after those told before.
  // Never blocks. Not after Stop.
  void Tell(std::vector<Done> all, absl::Status status);

  // How many have not been called yet.
  size_t waiting() const;

  // Returns once all have been called. Later calls do nothing.
  void Stop();

 private:
  struct Answers {
    std::vector<Done> all;
    absl::Status status;
  };

  void TellUntilStopped();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Answers> answers_;  // under mutex_
  size_t waiting_ = 0;           // under mutex_
  bool stopped_ = false;         // under mutex_
  std::mutex joining_;           // one Stop at a time
  std::thread thread_;           // last: uses all of the above
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_ADMISSION_SAVED_ANSWERS_H_
