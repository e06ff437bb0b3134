package io.keylake.plaindeletes.scan;

/** The numbers of what a task has done with equality deletes. */
final class DeleteCounters {
  long filesLoaded;
  long bytesLoaded;
  long keysLoaded;
  long bytesSpilled;
  long memoryTaken;
  long memoryFreed;
  long rowsDeleted;
}
