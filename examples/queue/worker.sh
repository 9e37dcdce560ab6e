#!/bin/sh
# drover queue work --exec examples/queue/worker.sh: one process for each task. Exit status 0 is done, 75 later, any other a failure;
# what it says on stderr is kept with a task that failed.
read -r task
case $task in
*'"fail"'*)
  echo "task $DROVER_ID was told to fail at attempt $DROVER_ATTEMPT" >&2
  exit 1
  ;;
esac
exit 0
