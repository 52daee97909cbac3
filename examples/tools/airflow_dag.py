"""A DAG of Airflow 3 that publishes the pages of each day, and tries again only what may end otherwise."""

from datetime import datetime, timedelta

from airflow.sdk import dag, task
from airflow.sdk.exceptions import AirflowFailException

import hushcount as hc


@dag(schedule="@daily", start_date=datetime(2026, 11, 1), catchup=False)
def hushcount_pages():
    """Count yesterday's visits in PostgreSQL, and write the table back."""

    @task(retries=5, retry_delay=timedelta(minutes=1), retry_exponential_backoff=True)
    def publish(ds=None):
        """Publish one day. Its date names the run, so that all tries together are paid once."""
        try:
            release = hc.top(
                "postgresql:///shop",
                relation="visits",
                column="page",
                window=ds,
                time="at",
                epsilon=0.1,
                delta=1e-9,
                ledger="postgresql:///shop",
                dataset="visits",
                run_id=f"pages-{ds}",
            )
            release.write("postgresql:///shop#top_pages", if_exists="append")
        except (hc.errors.BudgetExceeded, hc.errors.ParameterError) as refusal:
            raise AirflowFailException(str(refusal)) from None  # another try would be refused as well

    publish()


hushcount_pages()
