package io.keylake.tables.branches;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.planning.MemoryTable;
import java.util.Set;
import org.junit.jupiter.api.Test;

class MergedBranchTest {
  @Test
  void aBranchIsStaleWhenMainHasMovedSinceItWasMade() {
    MemoryTable table = MemoryTable.create("explicit");
    assertFalse(MergedBranch.isStale(table.table), "there is none");
    table.commit("1,4 a @10");
    MergedBranch.begin(table.table).publish(table.table);
    table.table.refresh();
    assertFalse(MergedBranch.isStale(table.table));
    table.commit("1 a @20");
    assertTrue(MergedBranch.isStale(table.table));
    MergedBranch.begin(table.table).publish(table.table);
    table.table.refresh();
    assertFalse(MergedBranch.isStale(table.table));
    assertEquals(Set.of("main", MergedBranch.NAME), table.table.refs().keySet());
  }
}
