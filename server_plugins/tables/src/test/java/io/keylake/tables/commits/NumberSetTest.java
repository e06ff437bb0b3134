package io.keylake.tables.commits;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;

class NumberSetTest {
  @Test
  void neighboursAreOneRange() {
    assertEquals("1-3,5", NumberSet.parse("5,3,1-2").toString());
    assertEquals("", NumberSet.EMPTY.toString());
    assertEquals(NumberSet.EMPTY, NumberSet.parse(""));
  }

  @RepeatedTest(20)
  void itIsASetOfNumbers(RepetitionInfo repetition) {
    Random random = new Random(repetition.getCurrentRepetition());
    NumberSet one = NumberSet.EMPTY;
    NumberSet two = NumberSet.EMPTY;
    TreeSet<Long> ones = new TreeSet<>();
    TreeSet<Long> twos = new TreeSet<>();
    for (int i = 0; i < 30; i++) {
      long first = random.nextInt(50);
      long last = first + random.nextInt(4);
      NumberSet range = NumberSet.between(first, last);
      boolean isOne = random.nextInt(3) > 0;
      one = isOne ? one.and(range) : one;
      two = isOne ? two : two.and(range);
      for (long each = first; each <= last; each++) {
        (isOne ? ones : twos).add(each);
      }
      assertEquals(ones.containsAll(twos), one.containsAll(two));
      TreeSet<Long> both = new TreeSet<>(ones);
      both.retainAll(twos);
      assertEquals(!both.isEmpty(), one.hasOneOf(two));
      for (long each = 0; each < 60; each++) {
        assertEquals(ones.contains(each), one.contains(each));
      }
      assertEquals(one, NumberSet.parse(one.toString()));
    }
  }
}
