package io.keylake.tables;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a type of the core that guests may use. A guest is a jar beside the core, joined by a
 * {@code KeylakeExtension}. It imports marked types and no others, which a test of the house
 * checks. A guest has the version of the core, so a marked type may change in any release, together
 * with the guests of the repository.
 */
@Documented
@Retention(RetentionPolicy.CLASS)
@Target(ElementType.TYPE)
public @interface GuestApi {}
