// A few threads with a bounded line of work before them: what lets an RPC
// handler hand a wait for the disk to somebody else and return at once. With
// one thread, work is done in the order it was posted.
#ifndef MEMPLAN_SERVER_BASE_WORK_QUEUE_H_
#define MEMPLAN_SERVER_BASE_WORK_QUEUE_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace memplan {

// Thread-safe. The work itself may post, but must not throw or destroy the
// queue.
class WorkQueue {
 public:
  // `threads` (at least 1) work at the same time; `capacity` pieces may wait.
  WorkQueue(int threads, size_t capacity);
  // As Stop.
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // Adds `work` to the line and never waits. False, with nothing done, if the
  // line is full or the queue has been stopped.
  bool Post(std::function<void()> work);

  // Refuses further work, finishes what was posted and waits for the threads.
  // Later calls do nothing. Not to be called by the work itself.
  void Stop();

 private:
  void WorkUntilStopped();

  const size_t capacity_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;  // under mutex_
  bool stopped_ = false;                       // under mutex_
  std::mutex joining_;                         // one Stop at a time
  std::vector<std::thread> threads_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_BASE_WORK_QUEUE_H_
