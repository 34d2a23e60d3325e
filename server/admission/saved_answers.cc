#include "server/admission/saved_answers.h"

#include <utility>

namespace memplan {

void SavedAnswers::Tell(std::vector<Done> all, absl::Status status) {
  {
    const std::lock_guard lock(mutex_);
    waiting_ += all.size();
    answers_.push_back({std::move(all), std::move(status)});
  }
  changed_.notify_one();
}

size_t SavedAnswers::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

void SavedAnswers::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  const std::lock_guard joining(joining_);
  if (thread_.joinable()) thread_.join();
}

void SavedAnswers::TellUntilStopped() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopped_ || !answers_.empty(); });
    if (answers_.empty()) return;
    Answers next = std::move(answers_.front());
    answers_.pop_front();
    lock.unlock();
    for (Done& done : next.all) {
      done(next.status);
      done = nullptr;
    }
    lock.lock();
    waiting_ -= next.all.size();
  }
}

}  // namespace memplan
